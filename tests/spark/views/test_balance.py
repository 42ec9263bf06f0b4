"""The balance of load: counters as observers wrote them, and shares compared with capacity."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from mesh.history.views import balance
from tests.spark.views.histories import Row, event, history, state, told
from tests.spark.views.histories import balance as line

pytestmark = pytest.mark.spark

GROWTH = st.lists(st.integers(0, 1000), min_size=1, max_size=4)  # growth of a counter from line to line
BOOTS = st.lists(st.tuples(GROWTH, st.booleans()), min_size=1, max_size=3)  # `True`: a clean end


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(counted=st.dictionaries(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")), BOOTS, min_size=1))
def test_counters_equal_the_last_ones_of_each_boot(
    session: SparkSession, counted: dict[tuple[str, str], list[tuple[list[int], bool]]]
) -> None:
    rows: list[Row] = []
    last: dict[tuple[str, int, str], int] = {}
    clean = {(o, boot) for (o, _), boots in counted.items() for boot, (_, ended) in enumerate(boots) if ended}
    for (observer, node), boots in counted.items():
        for boot, (growth, _) in enumerate(boots):
            sums = [sum(growth[: place + 1]) for place in range(len(growth))]
            rows += [
                line(observer, node, 1000 * boot + 10 * at, observer_boot=boot, sent=sent)
                for at, sent in enumerate(sums)
            ]
            last[observer, boot, node] = sums[-1]
    rows += [event("stopped", o, o, 1000 * boot + 999, observer_boot=boot) for o, boot in clean]
    found = told(balance.counters(history(session, rows)), "observer", "observer_boot", "node")
    assert {key: row["sent"] for key, row in found.items()} == last
    assert {key: row["clean"] for key, row in found.items()} == {key: key[:2] in clean for key in last}


def test_all_counters_of_a_boot_are_told(session: SparkSession) -> None:
    counters = {"sent": 9, "chosen": 8, "asked": 7, "answered": 6, "seconds": 0.5}
    rows = [line("heron", "egret", 10, **counters), line("heron", "stork", 10)]
    found = told(balance.counters(history(session, rows)), "node")
    assert {name: found["egret"][name] for name in counters} == counters
    assert {name: found["stork"][name] for name in counters} == dict.fromkeys(counters, 0)


def test_shares_that_follow_capacity_are_just(session: SparkSession) -> None:
    rows = [event("started", "heron", "heron", 0)]
    rows += [state("egret", at, cores=8, load=0.5) for at in (1, 3)]  # 4 idle cores
    rows += [state("stork", at, cores=4, load=0.75) for at in (1, 3)]  # 1 idle core
    rows += [line("heron", "egret", 10, sent=400, chosen=4), line("heron", "stork", 10, sent=100, chosen=4)]
    found = told(balance.quality(history(session, rows)), "node")
    assert (found["egret"]["capacity"], found["stork"]["capacity"]) == (4.0, 1.0)
    assert (found["egret"]["sent_share"], found["egret"]["capacity_share"]) == (0.8, 0.8)
    assert found["egret"]["sent_ratio"] == found["stork"]["sent_ratio"] == 1.0
    assert found["stork"]["sent_variation"] == 0.0
    # Each was chosen as often: ratios 0.5 / 0.8 and 0.5 / 0.2, with mean 1.5625 and deviation 0.9375.
    assert found["stork"]["chosen_ratio"] == pytest.approx(2.5)
    assert found["stork"]["chosen_variation"] == pytest.approx(0.6)


def test_a_candidate_that_was_away_has_no_share_of_what_was_chosen_then(session: SparkSession) -> None:
    """stork is there for a tenth of the time, and gets half of the choices of that time."""
    rows = [event("started", "heron", "heron", 0)]
    rows += [state(node, at, cores=4, load=0.5) for node in ("egret", "stork") for at in (1, 3)]
    for at in range(10, 6010, 10):
        here = max(0, at - 5400)  # s during which both are there
        rows.append(line("heron", "egret", at, chosen=10 * at - 5 * here))
        if here:
            rows.append(line("heron", "stork", at, chosen=5 * here))
    found = told(balance.quality(history(session, rows)), "node")
    assert found["stork"]["chosen_share"] == pytest.approx(0.05, abs=0.001)
    assert found["stork"]["capacity_share"] == pytest.approx(0.05, abs=0.001)
    assert found["egret"]["chosen_variation"] < 0.02


def test_where_most_is_chosen_while_one_is_away_the_other_is_due_most(session: SparkSession) -> None:
    rows = [event("started", "heron", "heron", 0)]
    rows += [
        line("heron", "egret", at, chosen=chosen)
        for at, chosen in ((0, 0), (50, 1000), (70, 1000), (110, 1100))
    ]
    rows += [line("heron", "stork", at, chosen=chosen) for at, chosen in ((70, 0), (110, 100))]
    found = told(balance.quality(history(session, rows)), "node")
    assert found["stork"]["capacity_share"] == pytest.approx(found["stork"]["chosen_share"], rel=0.01)


def test_the_load_that_the_mesh_itself_makes_does_not_lessen_a_node_s_capacity(session: SparkSession) -> None:
    rows = [event("started", "heron", "heron", 0)]
    rows += [state("egret", at, published=10.0 * at, load=0.2 + 0.01 * at) for at in range(60)]
    rows += [state("stork", at, published=10.0 * at, load=0.2 + 0.3 * (at % 2)) for at in range(60)]
    rows += [line("heron", node, 70, sent=1) for node in ("egret", "stork")]
    found = told(balance.quality(history(session, rows)), "node")
    assert found["egret"]["capacity"] == pytest.approx(4 * 0.8)
    assert found["stork"]["capacity"] == pytest.approx(4 * 0.65)


def test_of_a_boot_that_began_before_the_history_only_what_came_later_counts(session: SparkSession) -> None:
    rows = [line("heron", "egret", at, sent=10_000 + at) for at in (0, 10, 20)]
    rows += [event("started", "heron", "heron", 100, observer_boot=2)]
    rows += [line("heron", "egret", at, sent=at, observer_boot=2) for at in (110, 120)]
    whole = history(session, rows)
    assert told(balance.quality(whole), "node")["egret"]["sent"] == 20 + 120
    assert told(balance.counters(whole), "observer_boot")[1]["sent"] == 10_020


def test_a_lost_line_changes_nothing(session: SparkSession) -> None:
    rows = [event("started", "heron", "heron", 0)]
    rows += [line("heron", "egret", at, sent=at, seconds=at / 100, answered=at) for at in (10, 20, 40)]
    found = told(balance.quality(history(session, rows)), "node")["egret"]
    assert (found["sent"], found["answered"]) == (40, 40)
    assert found["latency_ms"] == pytest.approx(10)


def test_one_candidate_alone_and_one_that_never_said_anything_are_no_injustice(session: SparkSession) -> None:
    rows = [event("started", "heron", "heron", 0), line("heron", "egret", 10, sent=0)]
    rows += [event("started", "stork", "stork", 0), state("crane", 1, cores=16, load=0.0)]
    rows += [line("stork", node, 10, sent=50) for node in ("crane", "ghost")]
    found = told(balance.quality(history(session, rows)), "observer", "node")
    assert found["heron", "egret"]["sent_share"] is None
    assert found["heron", "egret"]["sent_variation"] is None
    assert found["stork", "ghost"]["capacity"] is None
    assert found["stork", "ghost"]["capacity_share"] == 0.5
    assert found["stork", "crane"]["sent_variation"] == 0.0


def test_of_two_nodes_that_had_one_name_the_later_one_s_capacity_counts(session: SparkSession) -> None:
    rows = [state("egret", 1, cores=2, load=0.0, uuid="old"), state("egret", 2, cores=8, load=0.0)]
    rows += [line("heron", "egret", 10, sent=5)]
    assert told(balance.quality(history(session, rows)), "node")["egret"]["capacity"] == 8.0
