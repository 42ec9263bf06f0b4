"""The command that learns weights: its file and table, and its errors."""

import json
from datetime import datetime
from pathlib import Path

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

from mesh.cli.weights_file import read
from mesh.history.cli import main
from tests.spark.views.histories import Row, balance, event, history, link, state

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def place(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A history of two meshes. In one, stork is slower than egret; the other one has no node but its own."""
    rows: list[Row] = [event("started", "heron", "heron", 0), state("other", 0, cluster="attic")]
    for node, seconds in (("egret", 1.0), ("stork", 2.0)):
        rows += [state(node, 2 * at) for at in range(40)]
        rows += [balance("heron", node, 10, asked=1000, answered=1000, seconds=seconds)]
    path = tmp_path_factory.mktemp("history") / "h"
    history(session, rows).write.partitionBy("kind", "date", "hour").parquet(str(path))
    return str(path)


def weights(place: str, out: Path, *more: str) -> int:
    return main(["weights", "--to", place, "--since", "2026-01-01", "--out", str(out), *more])


def test_the_file_holds_what_the_table_shows(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "weights.json"
    assert weights(place, out, "--cluster", "lab", "--expires", "36h") == 0
    said, file = capsys.readouterr().out, json.loads(out.read_text())
    assert (file["version"], file["cluster"], file["since"]) == (1, "lab", "2026-01-01T00:00:00Z")
    life = datetime.fromisoformat(file["expires"]) - datetime.fromisoformat(file["made"])
    assert life.total_seconds() == 36 * 3600
    assert {node: it["weight"] for node, it in file["weights"].items()} == {"egret": 1.0, "stork": 0.5}
    assert file["weights"]["stork"]["reason"] == "answers in 2 ms, the typical node in 1 ms"
    assert [line.split()[:3] for line in said.splitlines()[:3]] == [
        ["NODE", "WEIGHT", "ANSWERS"],
        ["egret", "1", "1,000"],
        ["stork", "0.5", "1,000"],
    ]
    assert f"mesh weights apply {out}" in said
    assert list(tmp_path.iterdir()) == [out]
    assert read(out).given["weights"]["stork"] == [0.5, "answers in 2 ms, the typical node in 1 ms"]


def test_trial_B8_what_a_node_with_a_fast_clock_has_measured_does_not_count_for_more(
    session: SparkSession, tmp_path: Path
) -> None:
    ahead = 10 * 86_400.0
    clock = {"heron": 0.0, "egret": 0.0, "stork": ahead}
    rows: list[Row] = [event("started", node, node, at) for node, at in clock.items()]
    rows += [state(node, 2 * at) for node in clock for at in range(40)]
    rows += [
        link(one, other, clock[one] + at, skew=clock[other] - clock[one])
        for one in clock
        for other in clock
        if one != other
        for at in range(3)
    ]
    rows += [balance("heron", "egret", 10, asked=1000, answered=1000, seconds=1.0)]
    rows += [balance("stork", "egret", ahead + 10, asked=1000, answered=1000, seconds=3.0)]
    place, out = str(tmp_path / "h"), tmp_path / "w.json"
    history(session, rows).write.partitionBy("kind", "date", "hour").parquet(place)
    assert weights(place, out) == 0
    assert json.loads(out.read_text())["weights"]["egret"]["latency_ms"] == 2.0


@pytest.mark.parametrize(
    ("more", "code", "hint"),
    [
        ([], "SEVERAL_CLUSTERS", "--cluster attic"),
        (["--since", "2026-02-01"], "EMPTY_HISTORY", "--since 30d"),
        (["--cluster", "lap"], "EMPTY_HISTORY", "No node of the mesh lap"),
        (["--cluster", "lab", "--since", "2026-02-01"], "EMPTY_HISTORY", "--since 30d"),
        (["--out", "/no/such/place/w.json"], "CANNOT_WRITE", "--out FILE"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_type_next(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], code: str, hint: str
) -> None:
    assert weights(place, tmp_path / "w.json", *more) == 2
    said = capsys.readouterr().err
    assert f"[{code}]" in said and hint in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OSError("[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file"), "CHANGED"),
        (Py4JNetworkError("Answer from Java side is empty"), "NO_JVM"),
    ],
)
def test_what_goes_wrong_in_spark_is_told_in_words(
    place: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    code: str,
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("mesh.history.weights_command.learn", fail)
    assert weights(place, tmp_path / "w.json", "--cluster", "lab") == 2
    assert f"[{code}]" in capsys.readouterr().err


def test_weights_that_are_never_good_are_not_learnt(place: str, tmp_path: Path) -> None:
    assert weights(place, tmp_path / "w.json", "--expires", "0d") == 2
