"""The nodes of this machine: the list of running nodes, and the name of the next one."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.errors import BadName, DataDirRefused, NodeInUse
from mesh.local.datadir import DataDir
from mesh.local.localnodes import NodeFile, check_original, pick_name, running_nodes


class Nodes:
    """Stand-ins for nodes: each has a name, a locked data directory, and a node file."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.held: list[DataDir] = []

    def start(self, wanted: str | None = None, data: Path | None = None) -> str:
        name, directory = pick_name(self.state, wanted, "host", data)
        self.held.append(directory)
        self.tell(name, directory)
        return name

    def tell(self, name: str, directory: DataDir, boot: int | None = None) -> NodeFile:
        told = NodeFile(
            name=name,
            uuid=directory.uuid.hex(),
            boot=boot or directory.boot,
            pid=os.getpid(),
            ipc=f"ipc://{directory.path}/node.sock",
            tcp=None,
            data=str(directory.path),
            cluster="default",
        )
        told.write(self.state)
        return told

    def names(self) -> list[str]:
        return [node["name"] for node in running_nodes(self.state)]

    def files(self) -> list[str]:
        return sorted(os.listdir(self.state / "nodes"))


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    made = Nodes(tmp_path)
    yield made
    for directory in made.held:
        directory.close()


def test_where_no_node_ever_ran_none_is_listed(tmp_path: Path) -> None:
    assert running_nodes(tmp_path) == []


def test_a_running_node_is_listed_with_all_that_it_told(nodes: Nodes) -> None:
    nodes.start("heron")
    (directory,) = nodes.held
    assert running_nodes(nodes.state) == [
        {
            "name": "heron",
            "uuid": directory.uuid.hex(),
            "boot": 1,
            "pid": os.getpid(),
            "ipc": f"ipc://{nodes.state}/data/heron/node.sock",
            "tcp": None,
            "data": f"{nodes.state}/data/heron",
            "cluster": "default",
            "keyed": False,
            "snapshots": "",
        }
    ]
    assert (nodes.state / "nodes").stat().st_mode & 0o777 == 0o700
    assert (nodes.state / "nodes" / "heron.json").stat().st_mode & 0o777 == 0o600


def test_nodes_are_listed_by_name(nodes: Nodes) -> None:
    for name in ("crane", "bittern", "heron"):
        nodes.start(name)
    assert nodes.names() == ["bittern", "crane", "heron"]


def test_a_node_that_stopped_is_not_listed(nodes: Nodes) -> None:
    nodes.start("heron")
    told = nodes.tell("heron", nodes.held[0])
    told.delete(nodes.state)
    told.delete(nodes.state)
    assert nodes.names() == []


KILLED = """
import sys
from pathlib import Path
from mesh.local.localnodes import NodeFile, pick_name

state = Path(sys.argv[1])
name, data = pick_name(state, "heron", "host")
NodeFile(
    name=name, uuid=data.uuid.hex(), boot=data.boot, pid=1,
    ipc=None, tcp=None, data=str(data.path), cluster="c"
).write(state)
print("ready", flush=True)
sys.stdin.readline()
"""


def test_a_node_that_has_let_its_directory_go_is_not_listed_and_its_file_goes(nodes: Nodes) -> None:
    nodes.start("heron")
    nodes.held.pop().close()
    assert nodes.files() == ["heron.json"]
    assert nodes.names() == []
    assert nodes.files() == []


@pytest.mark.slow
def test_a_killed_node_is_not_listed_and_its_file_goes(nodes: Nodes) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(nodes.state)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert nodes.names() == ["heron"]
        process.send_signal(signal.SIGKILL)
    assert nodes.files() == ["heron.json"]
    assert nodes.names() == []
    assert nodes.files() == []


def test_a_node_whose_directory_was_removed_is_not_listed(nodes: Nodes) -> None:
    nodes.start("heron")
    shutil.rmtree(nodes.held[0].path)
    assert nodes.names() == []
    assert nodes.files() == []


def test_the_file_of_an_earlier_start_is_passed_over_until_the_later_one_tells(nodes: Nodes) -> None:
    nodes.start("heron")
    nodes.held.pop().close()
    _, directory = pick_name(nodes.state, "heron", "host")
    nodes.held.append(directory)
    assert nodes.names() == []
    nodes.tell("heron", directory)
    assert nodes.names() == ["heron"]


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"name": "heron"}', "\x00"])
def test_what_is_no_node_file_is_passed_over(nodes: Nodes, content: str) -> None:
    nodes.start("crane")
    (nodes.state / "nodes" / "heron.json").write_text(content)
    assert nodes.names() == ["crane"]


def test_a_file_that_tells_of_another_name_is_passed_over(nodes: Nodes) -> None:
    nodes.start("crane")
    shutil.copy(nodes.state / "nodes" / "crane.json", nodes.state / "nodes" / "heron.json")
    assert nodes.names() == ["crane"]


def test_a_field_of_a_later_release_does_no_harm(nodes: Nodes) -> None:
    nodes.start("crane")
    path = nodes.state / "nodes" / "crane.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"web": "http://127.0.0.1:8080"}))
    assert nodes.names() == ["crane"]


def test_nodes_without_a_name_are_called_after_the_host_and_counted(nodes: Nodes) -> None:
    assert [nodes.start() for _ in range(3)] == ["host", "host-2", "host-3"]
    assert nodes.names() == ["host", "host-2", "host-3"]
    nodes.held.pop(1).close()
    assert nodes.start() == "host-2"


def test_a_name_whose_directory_is_held_is_skipped_before_its_node_has_told(nodes: Nodes) -> None:
    nodes.held.append(DataDir.open(nodes.state / "data" / "host"))
    assert nodes.start() == "host-2"


@pytest.mark.parametrize(
    ("hostname", "name"),
    [
        ("bird.example.org", "bird.example.org"),
        ("Tom's MacBook", "Tom-s-MacBook"),
        ("höst/../x", "h-st-..-x"),
        ("x" * 80, "x" * 60),
        ("", "node"),
        ("..", "node"),
    ],
)
def test_a_host_name_is_made_a_node_name(nodes: Nodes, hostname: str, name: str) -> None:
    found, directory = pick_name(nodes.state, None, hostname)
    nodes.held.append(directory)
    assert found == name
    assert directory.path == nodes.state / "data" / name
    second, directory = pick_name(nodes.state, None, hostname)
    nodes.held.append(directory)
    assert second == f"{name}-2"
    assert re.fullmatch(r"[A-Za-z0-9_.:-]{1,64}", second)


def test_a_wanted_name_in_use_is_an_error(nodes: Nodes) -> None:
    nodes.start("heron")
    with pytest.raises(DataDirRefused) as refusal:
        nodes.start("heron")
    assert refusal.value.code == "DATA_DIR_IN_USE"


def test_a_wanted_name_that_runs_with_other_data_is_an_error(nodes: Nodes, tmp_path: Path) -> None:
    nodes.start("heron", tmp_path / "elsewhere")
    for data in (None, tmp_path / "third"):
        with pytest.raises(NodeInUse, match="'heron' already runs on this machine") as refusal:
            nodes.start("heron", data)
        assert refusal.value.code == "NAME_IN_USE"
    assert nodes.start("crane", tmp_path / "third") == "crane"  # its lock was released


def test_a_copy_of_the_data_of_a_node_that_runs_is_refused_whatever_it_is_called(
    nodes: Nodes, tmp_path: Path
) -> None:
    nodes.start("heron")
    shutil.copytree(nodes.held[0].path, tmp_path / "copy")
    name, copy = pick_name(nodes.state, "crane", "host", tmp_path / "copy")
    nodes.held.append(copy)
    with pytest.raises(NodeInUse, match="the identity of 'heron', which already runs here") as refusal:
        check_original(nodes.state, copy.uuid, copy.path)
    assert name == "crane" and refusal.value.code == "CONFLICT"
    check_original(nodes.state, nodes.held[0].uuid, nodes.held[0].path)
    nodes.held.pop(0).close()
    check_original(nodes.state, copy.uuid, copy.path)


def test_data_of_their_own_does_not_give_two_nodes_one_name(nodes: Nodes, tmp_path: Path) -> None:
    assert nodes.start(None, tmp_path / "a") == "host"
    assert nodes.start(None, tmp_path / "b") == "host-2"
    assert [directory.path for directory in nodes.held] == [tmp_path / "a", tmp_path / "b"]


def test_named_data_in_use_is_an_error_and_not_a_reason_for_another_name(
    nodes: Nodes, tmp_path: Path
) -> None:
    nodes.start(None, tmp_path / "a")
    with pytest.raises(DataDirRefused, match="in use"):
        nodes.start(None, tmp_path / "a")


def test_a_damaged_directory_is_no_reason_for_another_name(nodes: Nodes) -> None:
    nodes.start()
    nodes.held.pop().close()
    (nodes.state / "data" / "host" / "identity.json").write_text("{")
    with pytest.raises(DataDirRefused, match="damaged"):
        nodes.start()


@pytest.mark.parametrize("name", ["", "a/b", "x" * 65, "..", ".", "a b"])
def test_a_wanted_name_that_is_none_is_refused(nodes: Nodes, name: str) -> None:
    with pytest.raises(BadName):
        nodes.start(name)
    assert os.listdir(nodes.state) == []


def test_a_node_file_that_cannot_be_written_is_a_refusal(nodes: Nodes) -> None:
    nodes.start("heron")
    (nodes.state / "nodes" / ".crane.json.new").mkdir()
    with pytest.raises(DataDirRefused, match=r"crane.json cannot be used"):
        nodes.tell("crane", nodes.held[0])
