"""The list of nodes that clients save."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from mesh.client.core.known_nodes import KnownNode
from mesh.client.core.saved_nodes import KEPT, merged
from mesh.client.node_list import YOUNG, DamagedList, NodeList, read_list, save_list
from mesh.client.way import NodeAddress
from mesh.errors import BadName

HERON = KnownNode("heron", ("tcp://10.0.0.1:7710",), b"k" * 32)
STORK = KnownNode("stork", ("tcp://10.0.0.2:7710",))
NOON = 1_767_268_800_000_000_000


@pytest.fixture
def environ(tmp_path: Path) -> Mapping[str, str]:
    return {"MESH_STATE_DIR": str(tmp_path)}


def file(environ: Mapping[str, str], cluster: str = "flock") -> Path:
    return Path(environ["MESH_STATE_DIR"]) / "clients" / f"{cluster}.json"


def make_old(path: Path) -> None:
    os.utime(path, (path.stat().st_mtime - YOUNG - 1,) * 2)


def test_a_saved_list_is_read_again_the_last_used_node_first(environ: Mapping[str, str]) -> None:
    assert read_list("flock", environ) == []
    save_list("flock", [HERON, STORK], True, environ, NOON)
    assert read_list("flock", environ) == [msgspec.structs.replace(HERON, seen=NOON), STORK]
    save_list(
        "flock", [msgspec.structs.replace(STORK, addresses=("tcp://10.0.0.3:1",))], True, environ, NOON + 1
    )
    assert [node.name for node in read_list("flock", environ)] == ["stork", "heron"]
    assert read_list("other", environ) == []
    assert file(environ).stat().st_mode & 0o777 == 0o600


def test_a_list_without_news_is_written_once_a_minute(environ: Mapping[str, str]) -> None:
    save_list("flock", [HERON], True, environ, NOON)
    save_list("flock", [HERON], True, environ, NOON + 5)
    assert read_list("flock", environ)[0].seen == NOON
    make_old(file(environ))
    save_list("flock", [HERON], True, environ, NOON + 9)
    assert read_list("flock", environ)[0].seen == NOON + 9


def test_a_list_that_another_client_writes_is_left_alone(environ: Mapping[str, str]) -> None:
    save_list("flock", [HERON], True, environ, NOON)
    handle = os.open(file(environ).parent, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        save_list("flock", [STORK], True, environ, NOON)
    finally:
        os.close(handle)
    assert [node.name for node in read_list("flock", environ)] == ["heron"]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'[{"name": 1}]', b"\xff", b" " * 300_000 + b"[]"])
def test_a_damaged_list_is_reported_ignored_and_replaced(environ: Mapping[str, str], content: bytes) -> None:
    told: list[tuple[str, str]] = []
    nodes = NodeList(NodeAddress(None, "flock", environ), is_read=True)
    file(environ).parent.mkdir(mode=0o700)
    file(environ).write_bytes(content)
    assert nodes.read(lambda *event: told.append(event)) == []
    assert [kind for kind, _ in told] == ["saved-nodes"] and str(file(environ)) in told[0][1]
    nodes.add("flock", [HERON], True, NOON, lambda *event: told.append(event))
    assert [node.name for node in nodes.read(lambda *event: told.append(event))] == ["heron"]
    assert len(told) == 1


def test_entries_that_no_client_may_dial_are_left_out(environ: Mapping[str, str]) -> None:
    evil = KnownNode("evil", ("ipc:///tmp/evil", "tcp://example.com:1"))
    crowd = [KnownNode(f"n{n}", ("tcp://10.0.0.9:1",), seen=n) for n in range(KEPT + 9)]
    file(environ).parent.mkdir(mode=0o700)
    file(environ).write_bytes(msgspec.json.encode([evil, KnownNode("a b", HERON.addresses), *crowd]))
    found = read_list("flock", environ)
    assert [node.name for node in found] == [f"n{n}" for n in range(KEPT + 8, 8, -1)]


@pytest.mark.parametrize("cluster", ["..", ".", "a/b", "", "../../etc/x"])
def test_the_name_of_a_mesh_is_never_a_path(environ: Mapping[str, str], cluster: str) -> None:
    with pytest.raises(BadName):
        save_list(cluster, [HERON], True, environ, NOON)
    told: list[tuple[str, str]] = []
    NodeList(NodeAddress(None, None, environ), is_read=True).add(
        cluster, [HERON], True, NOON, lambda *event: told.append(event)
    )
    assert told[0][0] == "saved-nodes"


def test_a_list_that_cannot_be_written_is_reported(environ: Mapping[str, str]) -> None:
    told: list[tuple[str, str]] = []
    file(environ).parent.write_text("a file")
    NodeList(NodeAddress(None, None, environ), is_read=True).add(
        "flock", [HERON], True, NOON, lambda *event: told.append(event)
    )
    assert told[0][0] == "saved-nodes" and "was not saved" in told[0][1]


def test_a_client_of_one_node_reads_no_list(environ: Mapping[str, str]) -> None:
    save_list("default", [HERON], True, environ, NOON)
    for is_read in (True, False):
        found = NodeList(NodeAddress("heron", None, environ), is_read).read(lambda *event: None)
        assert bool(found) is is_read


def test_without_a_name_the_list_of_the_only_mesh_is_read(environ: Mapping[str, str]) -> None:
    nodes = NodeList(NodeAddress("heron", None, environ), is_read=True)
    save_list("flock", [HERON], True, environ, NOON)
    assert [node.name for node in nodes.read(lambda *event: None)] == ["heron"]
    save_list("other", [STORK], True, environ, NOON)
    assert nodes.read(lambda *event: None) == []


def test_a_pipe_in_place_of_the_list_does_not_block_the_client(environ: Mapping[str, str]) -> None:
    file(environ).parent.mkdir()
    os.mkfifo(file(environ))
    with pytest.raises(DamagedList, match="not a file"):
        read_list("flock", environ)


def test_the_list_keeps_the_nodes_used_last_and_the_later_time() -> None:
    many = [KnownNode(f"n{n}", ("tcp://10.0.0.9:1",), seen=n) for n in range(KEPT)]
    news = [KnownNode("n5", ("tcp://10.0.0.8:1",), seen=0), KnownNode("new", ("tcp://10.0.0.7:1",), seen=99)]
    found = merged(many, news)
    assert len(found) == KEPT and found[0].name == "new"
    assert next(node for node in found if node.name == "n5") == KnownNode("n5", ("tcp://10.0.0.8:1",), seen=5)


def test_a_directory_in_place_of_the_list_is_reported_in_words(environ: Mapping[str, str]) -> None:
    told: list[tuple[str, str]] = []
    file(environ).mkdir(parents=True, mode=0o700)
    file(environ).parent.chmod(0o700)
    nodes = NodeList(NodeAddress(None, "flock", environ), is_read=True)
    assert nodes.read(lambda *event: told.append(event)) == []
    nodes.add("flock", [HERON], True, NOON, lambda *event: told.append(event))
    assert len(told) == 2
    for _, text in told:
        assert "a directory has the name of the file" in text and "Errno" not in text
    assert os.listdir(file(environ).parent) == ["flock.json"], "no unfinished file is left"


@pytest.mark.parametrize("content", [b"{}", b"[1]", b"nonsense"])
def test_a_damaged_list_is_reported_without_the_words_of_the_decoder(
    content: bytes, environ: Mapping[str, str]
) -> None:
    file(environ).parent.mkdir(mode=0o700)
    file(environ).write_bytes(content)
    with pytest.raises(DamagedList, match=r"is ignored: the content is not a list of nodes$"):
        read_list("flock", environ)
