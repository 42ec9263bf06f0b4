"""The figures of services: the outcomes of all requests, in total and over time."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from mesh.discovery.state import Sample
from mesh.history.checks import is_good, parsed
from mesh.history.views import services
from mesh.snapshots.line import SERVICE, encode
from tests.mesh.features.services.node.user import User
from tests.simulation import SimNetwork
from tests.spark.views.histories import Row, event, history, service, told

pytestmark = pytest.mark.spark


def begun(*observers: str) -> list[Row]:
    return [event("started", observer, observer, 0) for observer in observers]


def test_all_who_ask_count_together_and_whoever_serves_apart(session: SparkSession) -> None:
    rows = begun("heron", "egret")
    rows += [
        service(
            "heron", "stork", at, "x", requests=10 * at, replies=9 * at, failed=at, seconds=0.9 * at, p50=0.1
        )
        for at in (10, 20, 100)
    ]
    rows += [service("egret", "stork", 50, "x", requests=50, replies=48, lost=1, expired=1, p50=0.3, p99=4.0)]
    rows += [service("egret", "", 50, "x", requests=7, refused=7)]
    rows += [service("egret", "heron", 50, "y", sent=5)]
    found = told(services.fared(history(session, rows)), "address", "node")
    assert list(found) == [("x", "stork"), ("x", ""), ("y", "heron")]
    assert found["x", "stork"] == {
        "address": "x", "node": "stork", "requests": 1050, "requests_per_s": pytest.approx(1000 / 100 + 1),
        "replies": 948, "failed": 100, "lost": 1, "refused": 0, "expired": 1, "sent": 0,
        "mean_ms": pytest.approx(90_000 / 948), "p50_ms": pytest.approx(100.0), "p99_ms": 4000.0,
        "callers": 2,
    }  # fmt: skip
    assert (found["x", ""]["refused"], found["x", ""]["p50_ms"]) == (7, None)
    assert (found["y", "heron"]["sent"], found["y", "heron"]["requests"]) == (5, 0)


def test_what_was_counted_before_the_history_does_not_count(session: SparkSession) -> None:
    rows = [service("heron", "stork", at, "x", requests=1000 + at) for at in (0, 10, 40)]
    rows += [*begun("egret"), service("egret", "stork", 40, "x", requests=3)]
    [row] = services.fared(history(session, rows)).collect()
    assert (row["requests"], row["callers"]) == (43, 2)
    assert row["requests_per_s"] == pytest.approx(1 + 3 / 40)


def test_a_pair_that_was_forgotten_and_came_back_and_a_new_boot_begin_again(session: SparkSession) -> None:
    rows = begun("heron") + [service("heron", "stork", at, "x", requests=n) for at, n in ((10, 50), (30, 20))]
    rows += [event("started", "heron", "heron", 100, observer_boot=2)]
    rows += [service("heron", "stork", 110, "x", requests=5, observer_boot=2)]
    [row] = services.fared(history(session, rows)).collect()
    assert row["requests"] == 75
    assert row["requests_per_s"] == pytest.approx(75 / 40)


def test_a_bucket_has_what_is_new_in_it(session: SparkSession) -> None:
    rows = begun("heron")
    counts = {10: (60, 60, 0), 50: (180, 170, 10), 70: (240, 170, 70)}
    rows += [
        service("heron", "stork", at, "x", requests=n, replies=ok, refused=bad, p50=0.01 * at, p99=0.1 * at)
        for at, (n, ok, bad) in counts.items()
    ]
    rows += [service("heron", "crane", 55, "x", requests=6, replies=1, lost=6, p50=0.02, p99=9.0)]
    found = told(services.over_time(history(session, rows), 60), "bucket_at", "address")
    assert found.keys() == {(0.0, "x"), (60.0, "x")}
    assert found[0.0, "x"] == {
        "bucket_at": 0.0, "address": "x", "requests_per_s": pytest.approx(186 / 60),
        "failures_per_s": pytest.approx(16 / 60), "p50_ms": pytest.approx(500.0), "p99_ms": 9000.0,
    }  # fmt: skip
    assert found[60.0, "x"]["requests_per_s"] == found[60.0, "x"]["failures_per_s"] == 1.0


def test_a_bucket_is_never_shorter_than_lines_come(session: SparkSession) -> None:
    rows = begun("heron") + [service("heron", "stork", at, "x", requests=at) for at in (12, 23, 34)]
    found = told(services.over_time(history(session, rows), 5), "bucket_at")
    assert sorted(found) == [10.0, 20.0, 30.0]
    assert found[20.0]["requests_per_s"] == pytest.approx(1.1)


def test_only_the_busiest_addresses_are_shown_over_time(session: SparkSession) -> None:
    rows = begun("heron") + [service("heron", "stork", 10, f"x{n}", requests=n) for n in range(5)]
    found = told(services.over_time(history(session, rows), 60, 2), "address")
    assert found.keys() == {"x3", "x4"}
    assert len(services.fared(history(session, rows), 2).collect()) == 2


def test_lines_that_nodes_write_are_read_as_they_were_meant(session: SparkSession) -> None:
    idle = Sample((90.0, 70.0), 4_000_000_000, 8_000_000_000, 0.001)
    a, b = SimNetwork(1).mesh("a", "b", sample=lambda: idle, snapshots=10.0)
    server, asker = User(a, "server"), User(b, "asker")
    server.serve("x")
    asker.request("x", *[b"?"] * 9)
    a.net.until(lambda: len(server.contents()) == 9)
    a.net.run(0.2)
    server.reply(*((n, b"!") for n in range(1, 9)))
    server.reply((9, b"no"), code="NOT_TODAY")
    asker.request("nobody", b"?")
    a.net.run(11)
    b.close()
    lines = [encode(line).decode() for line in b.lines]
    good = parsed(session.createDataFrame([(line,) for line in lines], "value string"))
    assert all(row[0] for row in good.select(is_good(good["value"])).collect())
    rows = session.read.schema(history(session, []).schema).json(session.sparkContext.parallelize(lines))
    found: dict[Any, Row] = told(services.fared(rows), "address")
    assert sum(f'"kind":"{SERVICE}"' in line for line in lines) == 2
    assert (found["x"]["node"], found["x"]["requests"], found["x"]["replies"], found["x"]["failed"]) == (
        "a", 9, 8, 1,
    )  # fmt: skip
    assert found["x"]["p50_ms"] == pytest.approx(200, rel=0.15)
    assert (found["nobody"]["node"], found["nobody"]["refused"]) == ("", 1)
