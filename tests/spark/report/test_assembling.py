"""Series and sums that a report makes from the rows of views."""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta

from mesh.history.report.assembling import (
    alive,
    assemble,
    axis,
    by_address,
    fair_shares,
    nodes,
    series,
    waiting,
)
from mesh.history.report.message_rows import Fare, Quality
from mesh.history.report.node_rows import Coverage, Flapping, Load
from mesh.history.report.sampling import mean, median, most, quantile
from tests.spark.report.invented import facts

START = datetime(2026, 11, 21, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def load(node: str, minute: int, machine: str | None = None, **values: float) -> Load:
    known = {
        "cpu_percent": 50.0,
        "load_share": 0.5,
        "lag_s": 0.01,
        "ram_percent": 40.0,
        "published_per_s": 10.0,
        "delivered_per_s": 20.0,
        "pending": 1.0,
        "tailback": 2.0,
        "queued": 4.0,
    }
    return Load(node=node, bucket_at=START + minute * MINUTE, machine=machine, **(known | values))


def quality(observer: str, node: str, chosen: int, capacity_share: float, uuid: str = "") -> Quality:
    return Quality(
        observer=observer,
        observer_uuid=uuid,
        node=node,
        sent=chosen,
        chosen=chosen,
        chosen_share=None,
        answered=0,
        latency_ms=None,
        capacity_share=capacity_share,
        chosen_ratio=None,
        chosen_variation=None,
    )


def test_a_time_of_which_nothing_is_known_becomes_an_empty_bucket_at_each_end() -> None:
    starts = [START + minute * MINUTE for minute in (0, 1, 10, 11, 13)]
    minutes = [(when - START) // MINUTE for when in axis(starts, MINUTE)]
    assert minutes == [0, 1, 2, 9, 10, 11, 12, 13]
    assert axis([], MINUTE) == ()


def test_a_series_has_a_value_for_each_time_and_none_where_nobody_knows() -> None:
    rows = [load("wren", 0), load("wren", 2, cpu_percent=70.0), load("heron", 1)]
    times = [START + minute * MINUTE for minute in range(3)]
    found = series(rows, times)
    assert found["cpu_percent"] == {"heron": (None, 50.0, None), "wren": (50.0, None, 70.0)}
    assert found["waiting"]["heron"] == (None, 7.0, None)


def test_a_node_has_means_and_peaks_of_what_it_said_and_sums_of_what_befell_it() -> None:
    rows = [load("wren", 0, cpu_percent=20.0, lag_s=0.1), load("wren", 1, cpu_percent=60.0, lag_s=0.3)]
    covered = Coverage(
        node="wren",
        boots=2,
        states=60,
        states_lost=0,
        first_at=START,
        last_at=START + MINUTE,
        gap_s=2.0,
        gap_at=START,
        lines=5,
        future=0,
        past=0,
    )
    flapped = Flapping(
        node="wren", suspicions=1, refutations=0, deaths=3, restarts=2, seen_hours=1.0, changes_per_hour=6.0
    )
    (wren,) = nodes(rows, [covered], [flapped], [])
    assert (wren.cpu_percent, wren.cpu_peak_percent, wren.lag_s, wren.lag_worst_s) == (40.0, 60.0, 0.2, 0.3)
    assert (wren.boots, wren.states, wren.deaths, wren.restarts, wren.waiting) == (2, 60, 3, 2, 7.0)
    assert (wren.share, wren.first_at) == (None, START)


def test_the_busiest_node_comes_first_and_one_without_states_last() -> None:
    covered = Coverage(
        node="silent",
        boots=0,
        states=0,
        states_lost=0,
        first_at=None,
        last_at=None,
        gap_s=None,
        gap_at=None,
        lines=9,
        future=0,
        past=0,
    )
    found = nodes([load("a", 0, load_share=0.2), load("b", 0, load_share=0.9)], [covered], [], [])
    assert [node.name for node in found] == ["b", "a", "silent"]


def test_a_node_is_on_the_last_machine_that_it_said() -> None:
    rows = [load("a", 1, "new"), load("a", 0, "old"), load("a", 2), load("b", 0)]
    assert {node.name: node.machine for node in nodes(rows, [], [], [])} == {"a": "new", "b": None}


def test_a_fair_share_is_that_of_the_capacity_weighed_by_what_each_observer_chose() -> None:
    rows = [quality("x", "a", 300, 0.5), quality("x", "b", 300, 0.5), quality("y", "a", 200, 0.8)]
    rows += [quality("y", "b", 200, 0.2), quality("z", "c", 0, 1.0)]
    shares = fair_shares(rows)
    assert shares.keys() == {"a", "b"}
    assert [round(value, 3) for value in (*shares["a"], *shares["b"])] == [0.5, 0.62, 0.5, 0.38]
    assert fair_shares([quality("x", "a", 0, 1.0)]) == {}


def test_of_two_observers_of_one_name_each_has_its_own_choices() -> None:
    rows = [quality("x", node, 100, 0.5, uuid) for uuid in ("old", "new") for node in ("a", "b")]
    assert fair_shares(rows) == {"a": (0.5, 0.5), "b": (0.5, 0.5)}


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def test_a_node_that_is_dead_for_ten_seconds_is_missing_for_these_ten() -> None:
    spans = [("wren", at(0), at(20)), ("wren", at(30), at(180)), ("heron", at(5), at(90))]
    assert alive(spans) == ((at(0), 1), (at(5), 2), (at(20), 1), (at(30), 2), (at(90), 1), (at(180), 0))
    assert alive([]) == ()


def test_a_node_whose_lives_meet_or_overlap_is_one_node() -> None:
    spans = [("wren", at(0), at(20)), ("wren", at(10), at(30)), ("wren", at(30), at(40))]
    assert alive(spans) == ((at(0), 1), (at(40), 0))


def test_quantiles_lie_between_neighbours_and_ignore_what_is_unknown() -> None:
    assert [quantile([4, 1, 3, 2], share) for share in (0, 0.5, 1)] == [1, 2.5, 4]
    assert (median([None, 3, 1]), mean([None, 3, 1]), most([None, 3, 1])) == (2, 2, 3)
    assert (quantile([], 0.5), mean([None]), most([])) == (None, None, None)


def test_lives_are_in_the_order_in_which_they_began_so_that_the_last_of_a_node_is_its_newest() -> None:
    made = facts(3)
    whole = {field.name: getattr(made, field.name) for field in fields(made)}
    for derived in ("times", "series", "fares", "nodes"):
        del whole[derived]
    again = assemble(load=[], fares=[], **whole | {"lives": made.lives[::-1]})
    assert again.lives == made.lives and again.lives[0].first_at == min(life.first_at for life in made.lives)
    assert again.last_lives["wren"].boot == 6


def test_the_newest_life_is_the_one_that_ended_last_whatever_a_clock_said_when_it_began() -> None:
    made = facts(3)
    *others, last = [life for life in made.lives if life.node == "wren"]
    unset = replace(last, first_at=datetime(1970, 1, 1, tzinfo=UTC))
    assert replace(made, lives=(unset, *others)).last_lives["wren"] == unset


def test_fares_are_by_address_with_none_where_nobody_asked() -> None:
    def fare(address: str, minute: int, rate: float) -> Fare:
        when = START + minute * MINUTE
        return Fare(
            bucket_at=when, address=address, requests_per_s=rate, failures_per_s=0, p50_ms=None, p99_ms=2
        )

    times = [START + minute * MINUTE for minute in range(3)]
    found = by_address(
        [fare("x", 0, 1.0), fare("y", 2, 5.0), fare("x", 1, 2.0), fare("x", 9, 7.0)], times, MINUTE
    )
    assert found["requests_per_s"] == {"x": (1.0, 2.0, None), "y": (None, None, 5.0)}
    assert found["p99_ms"]["x"] == (2, 2, None)
    times = [START + seconds * timedelta(seconds=15) for seconds in range(6)]
    found = by_address([fare("x", 0, 1.0)], times, MINUTE)  # a line of a minute fills all four
    assert found["requests_per_s"] == {"x": (1.0, 1.0, 1.0, 1.0, None, None)}


def test_what_waits_at_a_node_is_the_sum_of_what_is_known_of_it() -> None:
    row = load("heron", 0)
    assert waiting(replace(row, queued=None)) == 3.0, "an older release does not say"
    assert waiting(replace(row, pending=None, tailback=None)) == 4.0
    assert waiting(replace(row, pending=None, tailback=None, queued=None)) is None
