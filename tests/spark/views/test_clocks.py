"""Clocks that differ from the median of all, and the times that are corrected by it."""

import pytest
from pyspark.sql import SparkSession

from mesh.history.views import clocks
from tests.spark.views.histories import Row, event, history, link, state, told
from tests.spark.writing import uuid

pytestmark = pytest.mark.spark


def seen(clock_of: dict[str, float]) -> list[Row]:
    """Return lines of links between all nodes, each with the difference of the two clocks."""
    return [
        link(observer, node, at, skew=ahead - behind)
        for observer, behind in clock_of.items()
        for node, ahead in clock_of.items()
        if node != observer
        for at in (10.0, 20.0)
    ]


@pytest.mark.parametrize(
    ("clock_of", "expected"),
    [
        ({"heron": 0.0, "egret": 0.0, "stork": 3600.0}, {"heron": 0.0, "egret": 0.0, "stork": 3600.0}),
        ({"heron": 0.5, "egret": -0.5, "stork": 0.0, "crane": -90.0}, None),
        ({"heron": 0.0, "egret": 100.0}, {"heron": -50.0, "egret": 50.0}),
    ],
    ids=["one of three", "one of four", "two that differ meet in the middle"],
)
def test_a_clock_is_wrong_by_what_it_differs_from_the_median_of_all(
    session: SparkSession, clock_of: dict[str, float], expected: dict[str, float] | None
) -> None:
    found = told(clocks.skews(history(session, seen(clock_of))), "node")
    skews = {node: row["skew_s"] for node, row in found.items()}
    assert skews == (expected or {"heron": 0.75, "egret": -0.25, "stork": 0.25, "crane": -89.75})
    assert {row["observers"] for row in found.values()} == {len(clock_of) - 1}


@pytest.mark.parametrize("apart", [10, 3600], ids=["of an hour", "of a day"])
def test_a_part_in_which_a_machine_did_not_know_the_time_does_not_count_against_it(
    session: SparkSession, apart: int
) -> None:
    lines = [link("heron", "stork", apart * n, skew=-1.7e9 + n if n < 2 else 0.01 * n) for n in range(5)]
    assert told(clocks.skews(history(session, lines)), "node")["stork"]["skew_s"] == pytest.approx(0.015)


def test_states_are_put_right_by_their_owner_s_clock_and_other_lines_by_their_observer_s(
    session: SparkSession,
) -> None:
    rows = seen({"heron": 0.0, "egret": 1.5, "stork": 3600.0})
    rows += [state("stork", 3700.0), state("egret", 101.5), event("dead", "stork", "egret", 3800.0)]
    aligned = clocks.aligned(history(session, rows)).where("kind != 'link'")
    assert told(aligned, "kind", "node").keys() == {
        ("state", "stork"),
        ("state", "egret"),
        ("event", "egret"),
    }
    moments = {key: row["ts"] for key, row in told(aligned, "kind", "node").items()}
    # The median clock, that of egret, is the time of the mesh.
    assert moments == {("state", "stork"): 101.5, ("state", "egret"): 101.5, ("event", "egret"): 201.5}


def test_a_mesh_whose_clocks_are_right_stays_as_it_is(session: SparkSession) -> None:
    rows = [*seen({"heron": 0.0, "egret": 1.9}), state("egret", 7.0)]
    whole = history(session, rows)
    known = clocks.skews(whole).cache()
    assert clocks.aligned(whole, known).schema == whole.schema
    assert told(clocks.aligned(whole, known), "kind", "line", "ts") == told(whole, "kind", "line", "ts")
    known.unpersist()


def test_whom_nobody_measured_has_no_skew_and_its_times_stay(session: SparkSession) -> None:
    whole = history(
        session, [link("heron", "egret", 0.0, skew=None), state("egret", 7.0, uuid=uuid("egret"))]
    )
    assert clocks.skews(whole).collect() == []
    assert told(clocks.aligned(whole).where("kind = 'state'"), "node")["egret"]["ts"] == 7.0
