"""The benchmark of snapshots: their cost, and the detection of lost lines."""

import json
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mesh.snapshots.line import BALANCE, LINK, QUEUE, STATE, TOPIC, HistoryLine, encode
from tools.benchmarks.loads import snapshot_writer
from tools.benchmarks.measures import snapshots
from tools.benchmarks.measures.snapshots import PACES, told


def run(cpu: float, lines: int, written: int | None = None) -> dict[str, Any]:
    count = lines if written is None else written
    return {
        "cpu": cpu,
        "seconds": 50.0,
        "lines": lines,
        "told": ["warning: the disk is full"] if written else [],
        "snapshot_lines": count,
        "snapshot_bytes": 300 * count,
        "snapshot_segments": 5,
    }


def rows(*runs: dict[str, Any]) -> dict[str, tuple[float, bool]]:
    report = told(dict(zip(PACES, runs, strict=True)), {True: [0.9, 1.2, 1.1], False: [1.0, 0.9, 1.3]})
    json.dumps(report.details)
    return {row.name: (row.measured, row.is_good) for row in report.rows}


def test_what_it_costs_is_what_a_node_that_writes_needs_more_than_one_that_does_not() -> None:
    found = rows(run(0.1, 0), run(0.35, 1_500), run(2.0, 100_000))
    measured = {name: value for name, (value, _) in found.items()}
    assert measured == pytest.approx({"snapshots, cpu": 0.5, "snapshots, line": 20, "snapshots, node": 1.1})
    assert all(is_good for _, is_good in found.values())


def test_more_than_a_hundredth_of_a_core_is_too_much() -> None:
    assert not rows(run(0.1, 0), run(0.7, 1_500), run(2.0, 100_000))["snapshots, cpu"][1]


def test_lines_that_were_lost_leave_no_result() -> None:
    report = told(
        dict(zip(PACES, [run(0.1, 0), run(0.2, 1_500, 1_400), run(2.0, 9)], strict=True)),
        {True: [1], False: [1]},
    )
    assert not report.is_clean
    assert "100 lines were lost: warning: the disk is full" in {row.flaw for row in report.rows}


def test_the_lines_are_those_of_a_node_among_a_hundred() -> None:
    node = snapshot_writer.Node()
    lines: list[HistoryLine] = [*node.states(), *node.figures()]
    kinds = [line.kind for line in lines]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        STATE: 3,
        LINK: 64,
        BALANCE: 100,
        QUEUE: 32,
        TOPIC: 64,
    }
    assert [line.line for line in lines] == list(range(1, len(lines) + 1))
    assert 200 < sum(map(len, map(encode, lines))) / len(lines) < 500  # bytes of a line


@pytest.mark.slow  # for its length
@pytest.mark.parametrize(("pace", "least", "most"), [(0, 0, 0), (20, 100, 1_000)])
def test_the_writer_tells_what_it_used_and_has_lost_nothing(
    pace: float, least: int, most: int, tmp_path: Path
) -> None:
    found = snapshot_writer.main(str(tmp_path), 1.2, pace)
    assert least <= found["lines"] == found["snapshot_lines"] <= most
    assert found["told"] == [] and found["cpu"] > 0 and found["seconds"] >= 1.2
    assert sum(path.read_bytes().count(b"\n") for path in tmp_path.rglob("*.jsonl")) == found["lines"]


@pytest.fixture
def signals() -> Iterator[None]:
    """Restore the signal handlers, which a benchmark that starts programs replaces."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.slow
def test_half_of_the_nodes_write_and_all_are_measured(signals: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "NODES", 4)
    monkeypatch.setattr(snapshots, "SETTLING", 0.5)
    steps: list[int] = []
    with tempfile.TemporaryDirectory(prefix="s-", dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        report = snapshots.measured(2.0, lambda: steps.append(1))
        assert list(Path(folder).iterdir()) == []
    assert len(steps) == snapshots.STEPS and report.is_clean
    used = report.details["nodes"]
    assert len(used["writing"]) == len(used["not writing"]) == 2
