"""The forecast of a node's capacity, and the reason if there is none."""

from datetime import UTC, datetime
from math import sqrt
from statistics import linear_regression

import pytest
from pyspark.sql import SparkSession

from mesh.history.views import forecast
from tests.spark.views.histories import Row, history, state, told

pytestmark = pytest.mark.spark

T_30 = 2.042272  # Student's t for 95 % and 30 degrees of freedom
DAY = 86_400


def loads(node: str, of: list[tuple[float, float]], every: float = 10) -> list[Row]:
    """Return states every `every` s with pairs of (messages a second, load).

    Half of the messages are published, half delivered.
    """
    return [
        state(node, every * at, published=rate / 2, delivered=rate / 2, load=load)
        for at, (rate, load) in enumerate(of)
    ]


def test_load_that_grows_with_messages_says_how_many_fill_a_node(session: SparkSession) -> None:
    of = [(10.0 * at, 0.1 + 0.001 * at) for at in range(40)]
    found = told(forecast.capacity(history(session, loads("egret", of))), "node")["egret"]
    assert found["capacity_per_s"] == pytest.approx(9000)
    assert found["capacity_low_per_s"] == pytest.approx(9000) == found["capacity_high_per_s"]
    assert (found["points"], found["reason"], found["r2"]) == (40, None, pytest.approx(1))
    assert (found["rate_per_s"], found["load_share"]) == (pytest.approx(195), pytest.approx(0.1195))


def test_the_interval_holds_all_rates_at_which_the_line_may_well_reach_1(session: SparkSession) -> None:
    noise = [0.03, -0.02, 0.01, -0.04, 0.05, -0.01, 0.02, -0.03]
    of = [(10.0 * at, 0.1 + 0.01 * at + noise[at % 8]) for at in range(32)]
    found = told(forecast.capacity(history(session, loads("egret", of))), "node")["egret"]
    rates, measured = [rate for rate, _ in of], [load for _, load in of]
    slope, intercept = linear_regression(rates, measured)
    mean, spread = sum(rates) / 32, sum((rate - sum(rates) / 32) ** 2 for rate in rates)
    rest = sum((load - intercept - slope * rate) ** 2 for rate, load in of) / 30
    assert found["capacity_per_s"] == pytest.approx((1 - intercept) / slope)
    for end, sign in (("low", 1), ("high", -1)):
        rate = found[f"capacity_{end}_per_s"]
        band = T_30 * sqrt(rest * (1 / 32 + (rate - mean) ** 2 / spread))
        assert intercept + slope * rate + sign * band == pytest.approx(1, abs=1e-5)
    assert found["capacity_low_per_s"] < found["capacity_per_s"] < found["capacity_high_per_s"]


def test_states_close_together_are_one_point(session: SparkSession) -> None:
    of = [(10.0 * at, 0.1 + 0.001 * at) for at in range(100)]
    found = told(forecast.capacity(history(session, loads("egret", of, every=2))), "node")["egret"]
    assert (found["points"], found["capacity_per_s"], found["reason"]) == (
        20,
        None,
        "only 20 of 30 points of 10 s",
    )


CANNOT_TELL: tuple[tuple[list[tuple[float, float]], str], ...] = (
    ([(100.0, 0.5)] * 40, "the number of messages never changed"),
    ([(100.0, 0.01 * at) for at in range(40)], "the number of messages never changed"),
    ([(10.0 * at, 0.5) for at in range(40)], "its load does not depend on its messages"),
    ([(10.0 * at, 0.5 - 0.01 * at) for at in range(40)], "its load does not depend on its messages"),
    ([(at, 0.001 * at + 0.5 * (at % 2)) for at in range(40)], "its messages explain only 1 % of its load"),
    ([(0.001 * at, 1 + 0.0 * at if at else 0.999) for at in range(40)], "explain only"),
)


def test_where_the_history_cannot_tell_it_says_why(session: SparkSession) -> None:
    rows = [row for n, (of, _) in enumerate(CANNOT_TELL) for row in loads(f"n{n}", of)]
    found = told(forecast.capacity(history(session, rows)), "node")
    assert len(found) == len(CANNOT_TELL)
    for n, (_, reason) in enumerate(CANNOT_TELL):
        row = found[f"n{n}"]
        assert reason in row["reason"]
        assert row["capacity_per_s"] is row["capacity_low_per_s"] is row["capacity_high_per_s"] is None
        assert row["r2"] is None or "never changed" not in reason


def test_a_trend_tells_when_a_node_will_be_full(session: SparkSession) -> None:
    noise = [0.002, -0.001, -0.001]
    rows = loads("rising", [(0, 0.01 * at + noise[at % 3]) for at in range(50)], every=DAY / 4)
    rows += loads("level", [(0, 0.5 + noise[at % 3]) for at in range(50)], every=DAY / 4)
    rows += loads("falling", [(0, 0.9 - 0.01 * at) for at in range(50)], every=DAY / 4)
    rows += loads("in ages", [(0, 0.1 + 1e-4 * at) for at in range(50)], every=DAY / 4)
    rows += [state("rising", datetime(1970, 1, 1, tzinfo=UTC), load=0.9, up=1)]
    found = told(forecast.capacity(history(session, rows)), "node")
    rising = found["rising"]
    assert rising["full_at"] == pytest.approx(25 * DAY, rel=0.01)
    assert rising["full_first_at"] < rising["full_at"] < rising["full_last_at"]
    assert rising["full_last_at"] - rising["full_first_at"] < DAY
    for node in ("level", "falling", "in ages"):
        assert found[node]["full_at"] is found[node]["full_first_at"] is found[node]["full_last_at"] is None


def test_a_node_that_says_no_load_is_left_out_and_one_state_is_no_trend(session: SparkSession) -> None:
    rows = [state("silent", 0, load=None), state("new", 0, load=0.3, published=None)]
    found = told(forecast.capacity(history(session, rows)), "node")
    assert found.keys() == {"new"}
    assert found["new"]["reason"] == "only 1 of 30 points of 10 s" and found["new"]["full_at"] is None
