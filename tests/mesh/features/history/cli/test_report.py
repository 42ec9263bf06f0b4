"""`mesh report` and `mesh ingest`: the history files that they find, and the Spark jobs that they start."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import pytest

from mesh.cli import main
from mesh.cli.verbs import VERBS
from mesh.errors import LocalError
from mesh.features.history.cli import ingest, report, spark_child
from mesh.local import private
from mesh.local.datadir import DataDir
from mesh.local.localnodes import NodeFile
from tests.mesh.local.snapshotting import put
from tests.mesh.snapshots.lines import segment

Calls = list[tuple[str, list[str]]]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MESH_STATE_DIR", str(tmp_path / "state"))
    return private.private_directory(tmp_path / "state", "")


@pytest.fixture
def usual(state: Path) -> Path:
    """Return the snapshot directory of a node that is not running."""
    place = state / "data" / "heron" / "snapshots"
    place.mkdir(parents=True)
    put(place, segment(1))
    return place


@pytest.fixture
def running(state: Path, tmp_path: Path) -> Iterator[Path]:
    """Return the directory of a running node, which it chose itself."""
    data = DataDir.open(tmp_path / "wren")
    place = tmp_path / "chosen"
    put(place, segment(1, node="wren"))
    NodeFile(
        name="wren",
        uuid=data.uuid.hex(),
        boot=data.boot,
        pid=1,
        ipc=None,
        tcp=None,
        data=str(data.path),
        cluster="default",
        snapshots=str(place),
    ).write(state)
    yield place
    data.close()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Return the calls of Spark that the test replaced."""
    made: Calls = []

    def run(verb: str, arguments: list[str]) -> int:
        made.append((verb, arguments))
        return 7

    monkeypatch.setattr(spark_child, "run", run)
    return made


def run(command: click.Command, *arguments: str) -> Any:
    return command.main(list(arguments), standalone_mode=False)


def test_all_places_of_this_users_nodes_are_read_and_gathered_in_one(
    usual: Path, running: Path, calls: Calls, state: Path
) -> None:
    assert run(report.command) == 7  # the child's exit code
    assert calls == [
        ("report", ["--from", str(running), "--from", str(usual), "--to", str(state / "history")])
    ]


def test_ingest_does_the_same(usual: Path, calls: Calls, state: Path) -> None:
    assert run(ingest.command, "--every", "10") == 7
    assert calls == [("ingest", ["--from", str(usual), "--to", str(state / "history"), "--every", "10"])]


def test_what_is_given_is_handed_on_and_paths_mean_what_they_mean_here(
    calls: Calls, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run(
        report.command, "--from", "a", "--from", "s3a://bucket/b", "--to", "h", "--since", "1d",
        "--until", "1h", "--html", "x.html", "--json", "--json-to", "x.json",
        "--master", "local[2]", "--conf", "a=b", "--conf", "c=d",
    )  # fmt: skip
    assert calls == [
        (
            "report",
            ["--from", str(tmp_path / "a"), "--from", "s3a://bucket/b", "--to", str(tmp_path / "h"),
             "--since", "1d", "--until", "1h", "--html", "x.html", "--json-to", "x.json",
             "--master", "local[2]", "--conf", "a=b", "--conf", "c=d", "--json"],
        )
    ]  # fmt: skip


def test_before_anything_is_written_down_it_says_what_to_do(state: Path, calls: Calls) -> None:
    (state / "data" / "heron" / "snapshots").mkdir(parents=True)  # a node that has just started
    for command in (report.command, ingest.command):
        with pytest.raises(LocalError, match="No snapshots exist yet") as caught:
            run(command)
        assert caught.value.code == "NO_SNAPSHOTS" and "mesh up" in caught.value.hint
    assert calls == []


def test_a_history_is_enough_for_a_report_and_alone_read_if_that_is_wished(state: Path, calls: Calls) -> None:
    (state / "history").mkdir()
    run(report.command)
    assert calls == [("report", ["--to", str(state / "history")])]


def test_a_history_at_an_address_is_enough_too(state: Path, calls: Calls) -> None:
    run(report.command, "--to", "s3a://bucket/history")
    assert calls == [("report", ["--to", "s3a://bucket/history"])]


def test_without_ingest_nothing_is_gathered(usual: Path, calls: Calls, state: Path) -> None:
    run(report.command, "--no-ingest")
    assert calls == [("report", ["--to", str(state / "history")])]


def test_without_spark_it_says_what_to_install(
    usual: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(spark_child, "find_spec", lambda name: None if name == "pyspark" else find_spec(name))
    assert main.main(["report"]) == 2
    error = capsys.readouterr().err
    assert "PySpark is not installed" in error and "pip install 'heronry[spark]'" in error
    assert "[NO_SPARK]" in error


def test_the_verbs_are_in_the_list_of_all() -> None:
    assert {"report", "ingest"} <= VERBS.keys()
