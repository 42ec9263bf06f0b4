"""The benchmark of Spark: its comparison with the written lines, and its judgment of growth."""

import copy
import json
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tools.benchmarks.loads.spark_job import wrong_counts, wrong_facts
from tools.benchmarks.loads.spark_measured import Measured
from tools.benchmarks.measures import spark_scale
from tools.benchmarks.measures.spark_scale import MILLION, exponent, name, sizes, told
from tools.benchmarks.pages.goals import GOALS
from tools.benchmarks.pages.spark_plot import draw
from tools.generating.history import History, Wish
from tools.running.processes import Failed, Processes, Program

JOB = """
import json, time
time.sleep(0.5)  # in which its memory is measured
figures = {"ingest": 1.0, "views": 2.0, "cpu": 4.0, "by view": {"contents": 2.0}}
print(json.dumps({**figures, "wrong": ["rows: 5, not 6"]}))
"""


def run(millions: float, seconds: float, wrong: list[str] | None = None) -> Measured:
    return Measured(
        int(millions * MILLION),
        7_000,
        10**9,
        seconds / 2,
        seconds / 2,
        seconds,
        {"contents": 1.0},
        memory=1_500.0 + millions,
        wrong=wrong or [],
    )


def test_sizes_go_up_to_what_was_asked_for() -> None:
    assert sizes(5 * MILLION) == [MILLION, 2 * MILLION, 5 * MILLION]
    assert sizes(19 * MILLION)[-1] == 10 * MILLION
    assert sizes(3_000) == [3_000]


def test_a_row_is_named_by_the_size_that_was_wanted() -> None:
    assert name(5_043_446) == "spark, 5 M" and name(20 * MILLION) == "spark, 20 M"
    assert name(3_100) == "spark, few"
    assert all(name(size) in GOALS for size in spark_scale.SIZES)


def test_the_exponent_tells_how_time_grows() -> None:
    assert exponent([run(1, 10), run(2, 20), run(5, 50)]) == pytest.approx(1)
    assert exponent([run(1, 10), run(2, 40), run(4, 160)]) == pytest.approx(2)
    assert exponent([run(1, 10), run(5, 10)]) == pytest.approx(0)


def test_a_minute_for_five_million_in_proportion_is_good() -> None:
    report = told([run(1, 12), run(5, 58)])
    assert report.is_clean and all(row.is_good for row in report.rows)
    measured = {row.name: row.measured for row in report.rows}
    assert measured["spark, 5 M"] == pytest.approx(58) and measured["spark, memory"] == 1_505
    [growth] = [row for row in report.rows if row.name == "spark, growth"]
    assert growth.note == "12.00 s a million lines with 1,000,000, 11.60 s with 5,000,000"
    assert not any(
        row.is_good for row in told([run(5, 61), run(10, 140)]).rows if row.name.endswith(("5 M", "th"))
    )


def test_one_size_says_nothing_of_growth_and_what_is_wrong_leaves_no_result() -> None:
    report = told([run(1, 12, wrong=["rows: 5, not 6"])])
    assert "spark, growth" not in {row.name for row in report.rows}
    assert not report.is_clean and report.rows[0].flaw == "rows: 5, not 6"


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    place = tmp_path_factory.mktemp("made")
    history = History(Wish(5, 300, 1_795_000_000_000_000, 7, place, place))
    history.run()
    found: dict[str, Any] = json.loads(json.dumps(history.summary()))
    return found


def ingested(truth: dict[str, Any], **other: int) -> Any:
    counts = {name: truth[name] for name in ("repeated", "quarantined", "segments")}
    return SimpleNamespace(**{"rows": truth["all_rows"], **counts, **other})


def facts(truth: dict[str, Any]) -> Any:
    counters = [
        SimpleNamespace(
            observer_uuid=boot["observer_uuid"], observer_boot=boot["observer_boot"], node=node, **counts
        )
        for boot in truth["boots"]
        for node, counts in boot["balance"].items()
    ]
    kinds = {**truth["rows"], "quarantine": truth["quarantined"]}
    return SimpleNamespace(kinds=kinds, counters=counters)


def test_what_is_as_it_was_written_is_not_wrong(truth: dict[str, Any]) -> None:
    assert wrong_counts(ingested(truth), truth) == []
    assert wrong_facts(facts(truth), truth) == []


def test_each_row_and_each_counter_that_is_not_as_it_was_written_is_wrong(truth: dict[str, Any]) -> None:
    rows = truth["all_rows"]
    assert wrong_counts(ingested(truth, rows=rows + 1), truth) == [f"rows: {rows + 1:,}, not {rows:,}"]
    lacking = facts(truth)
    lacking.kinds["state"] -= 1
    assert len(wrong_facts(lacking, truth)) == 1
    for field, by in {"asked": 1, "seconds": 0.1}.items():
        other = copy.deepcopy(facts(truth))
        setattr(other.counters[3], field, getattr(other.counters[3], field) + by)
        assert len(wrong_facts(other, truth)) == 1
    lost = facts(truth)
    lost.counters.pop()
    [text] = wrong_facts(lost, truth)
    assert text == f"1 of {len(lost.counters) + 1} counters are missing or too many"


def test_a_picture_is_one_page_that_needs_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "new" / "spark.html"
    draw([run(1, 12), run(5, 58)], path)
    page = path.read_text()
    assert "in proportion" in page and "million lines" in page
    assert '<script src="http' not in page and '<script charset="utf-8" src=' not in page


@pytest.fixture
def signals() -> Iterator[None]:
    """Restore the signal handlers, which a benchmark that starts programs replaces."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_the_figures_of_the_job_are_reported_and_nothing_is_left(
    signals: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The job itself runs in tests/spark/report/test_collecting.py."""
    start = Processes.start

    def without_java(processes: Processes, name: str, *arguments: str) -> Program:
        if name != "job":
            return start(processes, name, *arguments)
        return processes.launch(name, sys.executable, "-c", JOB)

    monkeypatch.setattr(Processes, "start", without_java)
    monkeypatch.setattr(spark_scale, "NODES", 5)
    monkeypatch.setattr(spark_scale, "WARM", 0)
    steps: list[int] = []
    with tempfile.TemporaryDirectory(prefix="s-", dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        report = spark_scale.measured(3_000, tmp_path / "spark.html", lambda: steps.append(1))
        assert list(Path(folder).iterdir()) == []
    assert len(steps) == spark_scale.STEPS
    assert (report.rows[0].measured, report.rows[0].flaw) == (3.0, "rows: 5, not 6")
    [details] = report.details["runs"]
    assert details["lines"] >= 3_000 and details["memory"] > 5
    assert (tmp_path / "spark.html").exists()


def test_a_size_that_fails_takes_nothing_from_the_smaller_ones(
    signals: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(_processes: object, size: int, _advance: object) -> Measured:
        if size > MILLION:
            raise Failed("the heap was too small")
        return run(size / MILLION, 10)

    monkeypatch.setattr(spark_scale, "measure", measure)
    report = spark_scale.measured(5 * MILLION, None, lambda: None)
    assert [details["lines"] for details in report.details["runs"]] == [MILLION]
    assert [row.flaw for row in report.rows if row.flaw] == ["the heap was too small"]
