"""Reports about the lines of three nodes: exact figures, and errors in words."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

from mesh.history.errors import SparkJobError
from mesh.history.report.command import command
from tests.spark.report.test_page import Page
from tests.spark.writing import START, line, segments

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

NODES = ("heron", "crane", "wren")
TOPIC = "<script>alert('topic')</script>"
END = START + timedelta(minutes=5)


def told() -> Iterator[dict[str, Any]]:
    """Lines of three nodes for five minutes.

    wren is killed after three minutes, the queue of crane grows, and heron stops cleanly.
    """
    for number in range(150):
        yield from _tick(number, START + timedelta(seconds=2 * number))
    for observer in NODES:
        yield line("event", observer=observer, node=observer, ts=START, event="started", text="")
    died = START + timedelta(minutes=3)
    for delay, observer in ((1.2, "heron"), (2.9, "crane")):
        when = died + timedelta(seconds=delay)
        yield line(
            "event", observer=observer, node="wren", ts=when, event="dead", text="wren is dead", age=1.2
        )
    for node, sent in (("crane", 1234), ("wren", 766)):
        yield line(
            "balance",
            observer="heron",
            node=node,
            ts=END,
            chosen=sent,
            sent=sent,
            asked=9,
            answered=8,
            seconds=0.4,
        )
    for minute, requests, lost in ((1, 60, 0), (2, 180, 0), (4, 300, 30)):
        when, more = START + timedelta(minutes=minute), {"failed": 0, "expired": 0, "p50": 0.012, "p99": 0.25}
        yield line(
            "service",
            observer="heron",
            node="wren",
            ts=when,
            address=TOPIC,
            requests=requests,
            replies=requests - lost,
            lost=lost,
            seconds=0.02 * (requests - lost),
            **more,
        )
    yield line("event", observer="heron", node="heron", ts=END, event="stopped", text="")
    yield line("topic", observer="heron", node="heron", ts=START, topic=TOPIC, messages=0, content=0)
    yield line("topic", observer="heron", node="heron", ts=END, topic=TOPIC, messages=4321, content=43210)


def _tick(number: int, when: datetime) -> Iterator[dict[str, Any]]:
    alive = NODES if number < 90 else NODES[:2]
    for node in alive:
        for observer in alive:  # every node writes down every state
            yield line(
                "state",
                observer=observer,
                node=node,
                ts=when,
                wall=when,
                version=number + 1,
                cpu=25.0,
                load=0.25,
                lag=0.3 if node == "crane" else 0.002,
            )
    if number % 5 == 0:
        for node in ("crane", "wren"):
            yield line("link", observer="heron", node=node, ts=when, rtt=0.0021, skew=0.0)
        yield line("queue", observer="crane", node="", ts=when, queue="tailback/wren", depth=10 * number)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with `snapshots`, one segment of which ends with a line of rubbish."""
    found = tmp_path_factory.mktemp("report")
    first, *_ = segments(found / "snapshots", told())
    first.write_text(first.read_text() + "rubbish\n")
    return found


@pytest.fixture(scope="module")
def reported(session: SparkSession, place: Path) -> Result:
    return run("--from", place / "snapshots", "--to", place / "history", "--html", place / "mesh.html")


@pytest.fixture(scope="module")
def document(reported: Result, place: Path) -> Any:
    """The JSON document of a second run with the same history, which adds no row twice."""
    written = place / "mesh.json"
    told = run(
        "--from", place / "snapshots", "--to", place / "history", "--json", "--json-to", written
    ).stdout
    assert json.loads(written.read_text()) == json.loads(told)
    return json.loads(told)


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(command, [*map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def test_the_summary_says_what_has_happened_and_where_the_page_is(reported: Result, place: Path) -> None:
    assert reported.stdout.startswith("Mesh lab · 2026-01-02 03:00 to 2026-01-02 03:05 UTC (5 min) · ")
    assert "crane is slow: its event loop is 300 ms late" in reported.stdout
    assert "At crane the queue tailback/wren grows by 18,000 messages an hour" in reported.stdout
    assert f"The page: {place / 'mesh.html'}" in reported.stdout


def test_the_page_has_the_figures_of_the_lines(reported: Result, place: Path) -> None:
    text = (place / "mesh.html").read_text(encoding="utf-8")
    tables = Page(text.replace(TOPIC, "")).tables
    rows = {row[0]: row for row in tables["All nodes, the busiest first"]}
    assert {name: (row[1], row[4], row[-1]) for name, row in rows.items() if name != "Node"} == {
        "heron": ("25 %", "2 ms", "0"),
        "crane": ("25 %", "300 ms", "0"),
        "wren": ("25 %", "2 ms", "1"),
    }
    assert TOPIC not in text
    topics = tables["Topics, the busiest first"]
    assert topics[1][0] == TOPIC and topics[1][2] == "4,321"
    (service,) = tables["By address and node"][1:]
    assert service == [TOPIC, "wren", "300", "1.25", "270", "0", "30", "0", "0", "12 ms", "250 ms", "1 node"]
    assert tables["1 address, the busiest first"][1][-1] == "20 ms"
    assert tables["Unreadable lines"][1][0] == "not JSON"


def test_counters_of_a_node_that_stopped_cleanly_are_exact(document: Any) -> None:
    assert [
        {key: row[key] for key in ("observer", "observer_boot", "node", "sent", "chosen", "clean")}
        for row in document["counters"]
    ] == [
        {"observer": "heron", "observer_boot": 1, "node": node, "sent": sent, "chosen": sent, "clean": True}
        for node, sent in (("crane", 1234), ("wren", 766))
    ]


def test_a_state_that_three_heard_counts_once(document: Any) -> None:
    assert {row["node"]: row["states"] for row in document["coverage"]} == {
        "heron": 150,
        "crane": 150,
        "wren": 90,
    }


def test_a_death_is_told_with_how_soon_it_was_noticed(document: Any) -> None:
    (death,) = document["detections"]
    assert (death["node"], death["how"], death["lived_on"]) == ("wren", "dead", False)
    assert (round(death["first_s"], 3), round(death["final_s"], 3)) == (3.2, 4.9)  # last state: 2 s before
    assert {life["node"]: life["ended"] for life in document["lives"]} == {
        "heron": "stopped",
        "crane": "there",
        "wren": "dead",
    }


def test_the_series_end_where_a_node_ended(document: Any) -> None:
    wren = document["series"]["cpu_percent"]["wren"]
    assert len(wren) == len(document["times"]) == 60  # buckets of 5 s
    assert wren[0] == 25.0 and set(wren[36:]) == {None}


def test_requests_are_told_over_time(document: Any) -> None:
    minutes = [(datetime.fromisoformat(when) - START).total_seconds() / 60 for when in document["times"]]
    rates = dict(zip(minutes, document["fares"]["requests_per_s"][TOPIC], strict=True))
    assert document["width_s"] == 5
    told = {1: 6.0, 2: 12.0, 4: 12.0}  # rates hold for the 10 s of a line, which are two points
    wanted = {at + later: rate for at, rate in told.items() for later in (0, 5 / 60)}
    assert {at: rate for at, rate in rates.items() if rate} == pytest.approx(wanted)
    lost = dict(zip(minutes, document["fares"]["failures_per_s"][TOPIC], strict=True))
    assert {at: rate for at, rate in lost.items() if rate} == pytest.approx({4: 3.0, 4 + 5 / 60: 3.0})
    assert any("10 % failed" in finding["text"] for finding in document["findings"])


def test_gathering_once_more_adds_nothing(document: Any) -> None:
    assert document["kinds"] == {
        "state": 390,
        "link": 60,
        "queue": 30,
        "event": 6,
        "balance": 2,
        "topic": 2,
        "service": 3,
        "quarantine": 1,
    }


def test_of_a_time_without_lines_it_says_so(reported: Result, place: Path) -> None:
    result = run("--to", place / "history", "--since", "2026-02-01", "--html", place / "nothing.html")
    assert "There are no lines for this time." in result.stdout
    assert "No node has reported its load." in (place / "nothing.html").read_text(encoding="utf-8")


def test_a_page_that_cannot_be_written_is_refused_before_spark_is_asked(place: Path) -> None:
    with pytest.raises(SparkJobError, match="the directory does not exist"):
        run("--to", place / "no-history", "--html", place / "nowhere" / "mesh.html")


def test_without_plotly_it_says_what_to_install(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mesh.history.report.command.find_spec", lambda name: None)
    with pytest.raises(SparkJobError, match="Plotly") as caught:
        run("--to", place / "no-history", "--html", place / "mesh.html")
    assert caught.value.code == "NO_PLOTLY" and "heronry[spark]" in caught.value.hint


def test_a_java_that_has_ended_is_told_in_words(
    reported: Result, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise Py4JNetworkError("Answer from Java side is empty")

    monkeypatch.setattr("mesh.history.report.command.collect", fail)
    with pytest.raises(SparkJobError) as caught:
        run("--to", place / "history")
    assert caught.value.code == "NO_JVM"


def test_where_nothing_was_gathered_it_says_so(session: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(SparkJobError) as caught:
        run("--to", tmp_path / "no-history")
    assert caught.value.code == "NO_HISTORY"
