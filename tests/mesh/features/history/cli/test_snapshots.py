"""`mesh snapshots`: the list of recorded files, and copies of them elsewhere."""

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from mesh.errors import DataDirRefused
from mesh.features.history.cli import snapshots
from mesh.local import private
from mesh.local.datadir import DataDir
from mesh.local.localnodes import NodeFile
from tests.mesh.local.snapshotting import BROKEN, files, mark, put
from tests.mesh.snapshots.lines import segment

LATER = "date=2026-02-01/hour=00"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MESH_STATE_DIR", str(tmp_path / "state"))
    return private.private_directory(tmp_path / "state", "")


@pytest.fixture
def usual(state: Path) -> Path:
    """Return the snapshot directory of a node that is not running."""
    place = state / "data" / "heron" / "snapshots"
    place.mkdir(parents=True)
    return place


@pytest.fixture
def running(state: Path, tmp_path: Path) -> Iterator[Path]:
    """Return the snapshot directory of a running node, which it chose itself."""
    data = DataDir.open(tmp_path / "wren")
    place = tmp_path / "chosen"
    place.mkdir()
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


def run(*arguments: str) -> int:
    code = snapshots.command.main(arguments, standalone_mode=False)
    return code if isinstance(code, int) else 0


def test_where_nothing_was_written_down_it_says_so(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("ls") == 0
    assert run("sync", "--to", str(state / "to")) == 0
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("no snapshots.  A node completes its first segment after 10 s.") == 2


def test_it_shows_what_each_node_has_and_what_is_safe(
    usual: Path, running: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(usual, segment(1))
    put(usual, segment(2, hour=LATER, size=1000))
    put(usual, segment(3, size=1000))
    put(running, segment(1, node="wren", uuid8="99999999"))
    mark(usual, "_ingested.json", (1, 1))
    mark(usual, "_synced.json", (1, 2))
    assert run("ls", "--json") == 0
    wren, heron = json.loads(capsys.readouterr().out)["snapshots"]
    assert heron == {
        "node": "heron",
        "uuid8": "1a2b3c4d",
        "directory": str(usual),
        "segments": 3,
        "bytes": 2100,
        "oldest": "2026-01-31T09",
        "newest": "2026-02-01T00",
        "ingested": 1,
        "synced": 2,
        "unread": 1,
    }
    assert (wren["node"], wren["directory"], wren["unread"]) == ("wren", str(running), 1)
    assert run("ls") == 0
    header, _, row = capsys.readouterr().out.splitlines()
    assert header.split() == [*snapshots.HEADER]
    assert row.split() == [
        "heron", "3", "2.1", "KB", "2026-01-31", "09:00", "2026-02-01", "00:00", "1", "2", "1", str(usual)
    ]  # fmt: skip


def test_nodes_that_share_a_directory_are_told_apart(
    running: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(running, segment(1))
    put(running, segment(1, node="wren", uuid8="99999999"))
    run("ls", "--json")
    found = json.loads(capsys.readouterr().out)["snapshots"]
    assert [(it["node"], it["segments"]) for it in found] == [("heron", 1), ("wren", 1)]


def test_a_damaged_marker_is_said(usual: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(usual, segment(1))
    (usual / "_synced.json").write_text("{")
    assert run("ls") == 0
    assert f"{usual / '_synced.json'} cannot be read: " in capsys.readouterr().err


def test_a_directory_that_cannot_be_listed_is_a_named_error(
    usual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "find", BROKEN)
    with pytest.raises(DataDirRefused, match="Input/output error"):
        run("ls")


def test_all_nodes_of_this_machine_are_copied(
    usual: Path, running: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(usual, segment(1, size=1200))
    put(running, segment(1, node="wren", uuid8="99999999"))
    to = tmp_path / "to"
    assert run("sync", "--to", str(to)) == 0
    assert len(files(to)) == 2
    assert run("sync", "--to", str(to)) == 0
    put(usual, segment(2))
    assert run("sync", "--to", str(to), "--json") == 0
    output = capsys.readouterr()
    said = ["copied 2 segments (1.3 KB), 0 were there", "copied 0 segments (0 B), 2 were there"]
    assert output.err.splitlines() == said
    assert json.loads(output.out) == {
        "from": [str(running), str(usual)],
        "to": str(to),
        "copied": 1,
        "bytes": 100,
        "present": 2,
        "problems": [],
    }


def test_a_running_node_may_have_older_ones_in_the_usual_place(running: Path, tmp_path: Path) -> None:
    put(tmp_path / "wren" / "snapshots", segment(1, node="wren", uuid8="99999999"))
    put(running, segment(2, node="wren", uuid8="99999999"))
    run("sync", "--to", str(tmp_path / "to"))
    assert len(files(tmp_path / "to")) == 2


def test_a_directory_that_was_given_is_copied_alone_and_once(
    usual: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(usual, segment(1))
    other = tmp_path / "other"
    put(other, segment(2))
    assert run("sync", "--to", str(tmp_path / "to"), "--from", str(other), "--from", f"{other}/../other") == 0
    assert capsys.readouterr().err == "copied 1 segment (100 B), 0 were there\n"
    assert files(tmp_path / "to") == [segment(2).path]


def test_what_could_not_be_copied_is_named_and_the_rest_goes_on(
    usual: Path, running: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    to = tmp_path / "to"
    put(usual, segment(1))
    put(usual, segment(2))
    put(to, segment(1, size=99))
    assert run("sync", "--to", str(to)) == 2
    done, problem = capsys.readouterr().err.splitlines()
    assert done == "copied 1 segment (100 B), 0 were there"
    assert problem == f"mesh: {to / segment(1).path} exists with 99 bytes, but {usual} has 100. [OTHER_SIZE]"
    assert run("sync", "--to", str(running), "--json") == 2
    output = json.loads(capsys.readouterr().out)
    assert output["copied"] == 2
    assert [it["code"] for it in output["problems"]] == ["SAME_PLACE"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sync"], "--to"),
        (["sync", "--to", "s3a://bucket/mesh"], "is not a directory. For object storage:  mesh ingest"),
        (["sync", "--to", "x", "--from", "nowhere"], "'nowhere' does not exist"),
        (["ls", "--from", "nowhere"], "'nowhere' does not exist"),
    ],
)
def test_what_makes_no_sense_is_refused(state: Path, arguments: list[str], said: str) -> None:
    with pytest.raises(click.UsageError) as refusal:
        run(*arguments)
    assert said in refusal.value.format_message()
