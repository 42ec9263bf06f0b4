"""The time between a death and its detection, by the clock."""

import pytest
from pyspark.sql import SparkSession

from mesh.history.views import detection, membership
from tests.spark.views.histories import event, history, state, told
from tests.spark.writing import uuid

pytestmark = pytest.mark.spark


def test_a_kill_is_timed_from_the_last_state_to_the_first_and_the_last_who_noticed(
    session: SparkSession,
) -> None:
    rows = [state("egret", at) for at in (0, 2, 4)]
    rows += [event("dead", "heron", "egret", 9.5, age=5.0), event("dead", "stork", "egret", 8.25, age=4.5)]
    rows += [event("left", "heron", "crane", 20), state("crane", 19.5)]
    found = told(detection.times(history(session, rows)), "node")
    assert found["egret"] == {
        "how": "dead", "node": "egret", "uuid": uuid("egret"), "boot": 1, "last_at": 4.0,
        "first_observer": "stork", "first_at": 8.25, "final_at": 9.5, "first_s": 4.25, "final_s": 5.5,
        "age_s": 4.5, "observers": 2, "lived_on": False,
    }  # fmt: skip
    assert (found["crane"]["how"], found["crane"]["first_s"]) == ("left", 0.5)
    whole = history(session, rows)
    assert told(detection.times(whole, membership.timeline(whole)), "node") == found


def test_who_was_taken_for_dead_and_lived_on_has_no_time_of_death(session: SparkSession) -> None:
    rows = [*(state("egret", at) for at in (0, 2, 90, 200)), event("dead", "heron", "egret", 50)]
    rows += [event("dead", "heron", "egret", 205), event("dead", "stork", "egret", 206)]
    found = told(detection.times(history(session, rows)), "first_at")
    assert {at: (row["lived_on"], row["first_s"], row["observers"]) for at, row in found.items()} == {
        50: (True, None, 1),
        205: (False, 5.0, 2),
    }


def test_each_boot_dies_its_own_death(session: SparkSession) -> None:
    rows = [state("egret", 2), state("egret", 102, boot=2)]
    rows += [event("dead", "heron", "egret", 6, boot=1), event("dead", "heron", "egret", 110, boot=2)]
    found = told(detection.times(history(session, rows)), "boot")
    assert {boot: row["first_s"] for boot, row in found.items()} == {1: 4.0, 2: 8.0}


def test_a_death_of_whom_no_state_is_known_has_only_the_word_of_those_who_noticed(
    session: SparkSession,
) -> None:
    found = told(detection.times(history(session, [event("dead", "heron", "ghost", 6, age=3.5)])), "node")[
        "ghost"
    ]
    assert (found["first_s"], found["age_s"], found["lived_on"]) == (None, 3.5, False)
