"""The lives of nodes: how each began and ended, and which nodes change too often."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession

from mesh.history.views import membership
from tests.spark.views.histories import Row, event, history, state, told
from tests.spark.writing import uuid

pytestmark = pytest.mark.spark


def alive(node: str, first: int, last: int, **fields: Any) -> list[Row]:
    return [state(node, at, **fields) for at in range(first, last + 1, 2)]


def test_each_boot_has_its_own_end(session: SparkSession) -> None:
    rows = [event("started", "heron", "heron", 0), *alive("heron", 1, 301)]
    rows += [*alive("stopped", 1, 99), event("stopped", "stopped", "stopped", 100)]
    rows += [*alive("left", 1, 99), event("left", "heron", "left", 100)]
    rows += [
        *alive("killed", 1, 99),
        event("dead", "heron", "killed", 104),
        event("dead", "left", "killed", 105),
    ]
    rows += [*alive("revived", 1, 301), event("dead", "heron", "revived", 104)]
    rows += [*alive("twice", 1, 99), *alive("twice", 111, 301, boot=2)]
    rows += alive("silent", 1, 99)
    found = told(membership.timeline(history(session, rows)), "node", "boot")
    assert {key: (row["ended"], row["ended_at"]) for key, row in found.items()} == {
        ("heron", 1): ("there", None),
        ("stopped", 1): ("stopped", 100),
        ("left", 1): ("left", 100),
        ("killed", 1): ("dead", 105),
        ("revived", 1): ("there", None),
        ("twice", 1): ("replaced", 99),
        ("twice", 2): ("there", None),
        ("silent", 1): ("silent", 99),
    }
    assert (found["heron", 1]["first_at"], found["heron", 1]["last_at"]) == (0, 301)
    assert (found["heron", 1]["state_at"], found["heron", 1]["states"]) == (301, 151)
    assert (found["twice", 2]["first_at"], found["twice", 2]["seen_s"]) == (111, 190)
    assert found["stopped", 1]["last_at"] == 100


def test_another_node_of_the_same_name_is_another_node(session: SparkSession) -> None:
    rows = [*alive("egret", 1, 9, uuid="1" * 32), *alive("egret", 11, 19, uuid="2" * 32)]
    rows += [event("dead", "heron", "egret", 15, uuid="1" * 32)]
    found = told(membership.timeline(history(session, rows)), "uuid")
    assert {key: row["ended"] for key, row in found.items()} == {"1" * 32: "dead", "2" * 32: "there"}


def test_a_clock_at_2099_makes_nobody_silent(session: SparkSession) -> None:
    rows = [*alive("heron", 1, 9), state("egret", datetime(2099, 1, 1, tzinfo=UTC), up=3.0)]
    found = told(membership.timeline(history(session, rows)), "node")
    assert {node: row["ended"] for node, row in found.items()} == {"heron": "there", "egret": "there"}


def test_a_life_whose_clock_was_set_later_began_when_others_or_a_set_clock_say_so(
    session: SparkSession,
) -> None:
    unset = [datetime(1970, 1, 1, 0, 0, second, tzinfo=UTC) for second in (1, 3, 5)]
    rows = [*alive("heron", 1, 301), *alive("egret", 1, 99), *alive("egret", 111, 301, boot=2)]
    rows += [state("egret", at, up=1, boot=2) for at in unset]
    rows += [event("started", "egret", "egret", unset[0], observer_boot=2)]
    rows += [state("never", at, up=1) for at in unset]
    rows += [event("joined", "heron", "stork", 50), *(state("stork", at, up=1) for at in unset)]
    found = told(membership.timeline(history(session, rows)), "node", "boot")
    assert (found["egret", 2]["first_at"], found["egret", 2]["last_at"]) == (111, 301)
    assert (found["stork", 1]["first_at"], found["stork", 1]["last_at"]) == (50, 50)
    assert found["never", 1]["last_at"] - found["never", 1]["first_at"] == 4
    assert {key: row["ended"] for key, row in found.items() if key[0] == "egret"} == {
        ("egret", 1): "replaced",
        ("egret", 2): "there",
    }


def test_what_many_notice_at_once_is_one_change(session: SparkSession) -> None:
    rows = [*alive("egret", 0, 1800), *alive("egret", 1900, 3700, boot=2), *alive("heron", 0, 3600)]
    noticed = {100: "suspect", 102: "alive", 900: "suspect", 1804: "suspect", 1809: "dead"}
    for observer, late in (("heron", 0), ("stork", 3), ("crane", 9)):
        rows += [event(kind, observer, "egret", at + late) for at, kind in noticed.items()]
        rows += [event("joined", observer, "egret", 1900 + late, boot=2)]
    found = told(membership.flapping(history(session, rows)), "node")
    assert found["egret"] == {
        "node": "egret",
        "uuid": uuid("egret"),
        "suspicions": 3,
        "refutations": 1,
        "deaths": 1,
        "restarts": 1,
        "seen_hours": 1.0,
        "changes_per_hour": 6.0,
    }
    assert found["heron"]["changes_per_hour"] == 0.0
    lives = membership.timeline(history(session, rows))
    assert told(membership.flapping(history(session, rows), lives), "node") == found


def test_whoever_was_never_heard_changes_at_no_rate(session: SparkSession) -> None:
    found = told(membership.flapping(history(session, [event("dead", "heron", "ghost", 5)])), "node")
    assert (found["ghost"]["deaths"], found["ghost"]["changes_per_hour"]) == (1, None)
