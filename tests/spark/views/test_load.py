"""The load of each node in buckets of time, and the width of the buckets."""

from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession

from mesh.history.views import load
from tests.spark.views.histories import history, state, told

pytestmark = pytest.mark.spark


def test_a_bucket_holds_means_and_the_worst_lag(session: SparkSession) -> None:
    rows = [
        state(
            "heron",
            3.0,
            cpu=10.0,
            load=0.1,
            lag=0.5,
            ram_free=25,
            ram_total=100,
            published=10.0,
            pending=7,
            queued=9,
            machine="0a1b2c3d",
        ),
        state(
            "heron",
            59.9,
            cpu=30.0,
            load=0.3,
            lag=0.1,
            ram_free=75,
            ram_total=100,
            published=20.0,
            delivered=4.0,
            machine="00000000",
        ),
        state("heron", 60.0, cpu=None, load=None),
        state("egret", 60.0, cpu=50.0, ram_free=5, ram_total=0),
    ]
    found = told(load.over_time(history(session, rows), 60), "bucket_at", "node")
    assert found.keys() == {(0.0, "heron"), (60.0, "heron"), (60.0, "egret")}
    assert found[0.0, "heron"] == {
        "bucket_at": 0.0,
        "width_s": 60,
        "node": "heron",
        "states": 2,
        "cpu_percent": 20.0,
        "load_share": 0.2,
        "lag_s": 0.5,
        "ram_percent": 50.0,
        "published_per_s": 15.0,
        "delivered_per_s": 2.0,
        "pending": 7,
        "tailback": None,
        "queued": 9,
        "machine": "00000000",
    }
    assert found[60.0, "heron"]["machine"] is None, "an earlier release does not say"
    assert found[60.0, "heron"]["cpu_percent"] is None
    assert found[60.0, "egret"]["ram_percent"] is None


def test_an_empty_history_has_no_width(session: SparkSession) -> None:
    assert load.width(history(session, [])) is None
    assert load.over_time(history(session, [])).collect() == []


@pytest.mark.parametrize(
    ("moments", "buckets", "width"),
    [
        ([0, 1, 9], 120, 5),
        ([0], 120, 10),
        (range(0, 600, 2), 120, 5),
        (range(0, 600, 10), 120, 10),  # too few lines for buckets of 5 s
        (range(0, 1200, 2), 120, 10),
        (range(0, 1202, 2), 120, 30),
        (range(0, 1202, 100), 5, 300),
        ([0, 86_400 * 2000], 1, 365 * 86_400),
    ],
)
def test_buckets_are_as_narrow_as_their_number_allows(
    session: SparkSession, moments: list[int], buckets: int, width: int
) -> None:
    assert load.width(history(session, [state("heron", at) for at in moments]), buckets) == width


def test_states_of_1970_and_2099_do_not_widen_the_buckets(session: SparkSession) -> None:
    rows = [state("heron", at) for at in range(0, 600, 10)]
    rows += [state("egret", datetime(year, 1, 1, tzinfo=UTC), up=1.0) for year in (1970, 2099)]
    assert load.width(history(session, rows), 62) == 10
    found = told(load.over_time(history(session, rows), None, 62), "bucket_at", "node")
    assert len(found) == 62 and {row["width_s"] for row in found.values()} == {10}
