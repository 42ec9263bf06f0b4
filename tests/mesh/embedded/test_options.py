"""Options of an embedded node, and the refusal of invalid ones before the node starts."""

import inspect
from pathlib import Path
from typing import Any

import pytest

import mesh
from mesh.embedded.options import configured
from mesh.errors import BadArgument, BadConfig, MeshError

NOTHING: dict[str, Any] = {
    "name": None, "data": None, "cluster": None, "bind": (), "seeds": (), "mdns": None, "config": None,
    "environ": {},
}  # fmt: skip


def made(**options: Any) -> Any:
    return configured(**{**NOTHING, **options})


def test_without_data_it_keeps_nothing_on_disk_and_with_it_all() -> None:
    memory, disk = made(), made(data="/var/robot")
    assert (memory.node.store, memory.snapshots.enabled) == ("memory", False)
    assert (disk.node.store, disk.snapshots.enabled, disk.node.data) == ("sqlite", True, "/var/robot")
    chosen = made(config={"node": {"store": "sqlite"}, "snapshots": {"enabled": True}})
    assert (chosen.node.store, chosen.snapshots.enabled) == ("sqlite", True)
    assert made(environ={"MESH_NODE__STORE": "sqlite"}).node.store == "sqlite"
    assert made(environ={"MESH_NODE__DATA": "/var/robot"}).node.store == "sqlite"
    assert made(config={"snapshots": {"enabled": True}}).snapshots.enabled


def test_each_option_is_a_setting_and_the_nearest_wins(tmp_path: Path) -> None:
    file = tmp_path / "robot.toml"
    file.write_text('[node]\nid = "file"\ncluster = "file"\n[discovery]\nmdns = true\n[timing]\nprobe = 3')
    environ = {"MESH_NODE__ID": "environment", "MESH_NODE__CLUSTER": "environment"}
    it = made(
        name="robot", bind="tcp://127.0.0.1:0", seeds=["a:1", "b:2"], mdns=False, config=file, environ=environ
    )
    assert (it.node.id, it.node.cluster, it.discovery.mdns) == ("robot", "environment", False)
    assert (it.node.bind, it.node.peers, it.timing.probe) == (("tcp://127.0.0.1:0",), ("a:1", "b:2"), 3)
    assert made(config=str(file)).node.id == "file"


def test_a_dict_says_what_a_file_could_rules_too() -> None:
    rules = {"heron": {"address": "tcp://127.0.0.1:7710", "master": [{"domains": ["NEWS"]}]}}
    given = {"nodes": rules, "limits": {"max_content": 5}, "default_scope": "local"}
    it = made(config=given)
    given["limits"] = {"max_content": 6}
    assert (it.limits.max_content, it.default_scope) == (5, "local")
    [record] = it.nodes
    assert (record.name, record.address, record.masters[0].domains) == (
        "heron", "tcp://127.0.0.1:7710", ("NEWS",),
    )  # fmt: skip


REFUSED: list[dict[str, Any]] = [
    {"name": ""}, {"name": "a b"}, {"name": "\ud800"}, {"name": 5}, {"name": b"robot"}, {"name": "x" * 65},
    {"data": ""}, {"data": 5}, {"data": b"/tmp"}, {"cluster": ""}, {"cluster": 0}, {"bind": 5}, {"bind": [5]},
    {"bind": None}, {"bind": {"tcp://127.0.0.1:0": 1}}, {"seeds": 5}, {"seeds": [None]}, {"seeds": b"x"},
    {"mdns": "yes"}, {"mdns": 1}, {"config": 5}, {"config": ""}, {"config": "/nowhere/x.toml"},
    {"config": []}, {"config": {5: 1}}, {"config": {"nodes": {5: {}}}}, {"config": {"nonsense": 1}},
    {"config": {"limits": 1}}, {"config": {"limits": {"linger": float("nan")}}},
    {"config": {"limits": {"linger": float("inf")}}},
    {"config": {"limits": {"sessions": 2**63}}}, {"config": {"limits": {"sessions": -1}}},
    {"config": {"timing": {"probe": "1"}}}, {"config": {"node": {"id": object()}}},
    {"environ": {"MESH_NODE__ID": ""}}, {"environ": 5}, {"environ": {5: "x"}}, {"environ": {"x": 5}},
    {"data": "a\ud800"}, {"data": "a\0"}, {"config": "a\ud800"}, {"config": "a\0"},
]  # fmt: skip


@pytest.mark.parametrize("options", REFUSED, ids=range(len(REFUSED)))
def test_what_makes_no_sense_is_refused_by_name(options: dict[str, Any]) -> None:
    with pytest.raises((BadConfig, BadArgument)) as refused:
        mesh.node(**options)
    assert str(refused.value)


class Text(str):
    """A subclass of str, like that of numpy."""


def test_texts_of_a_class_of_their_own_become_bare_ones(tmp_path: Path) -> None:
    it = made(
        name=Text("robot"),
        cluster=Text("c"),
        data=Text(tmp_path),
        bind=Text("tcp://127.0.0.1:0"),
        seeds=[Text("a:1")],
        config={"nodes": {Text("b"): {"address": Text("b:1")}}},
    )
    texts = (it.node.id, it.node.cluster, it.node.data, *it.node.bind, *it.node.peers)
    assert {type(each) for each in (*texts, it.nodes[0].name, it.nodes[0].address)} == {str}


def test_what_contains_itself_is_refused() -> None:
    circle: dict[str, Any] = {}
    circle["nodes"] = circle
    with pytest.raises(MeshError):
        made(config=circle)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), "5", None])
def test_its_timeout_is_that_of_any_client(timeout: Any) -> None:
    if timeout is None:
        mesh.node(timeout=timeout, environ={})
        return
    with pytest.raises(BadArgument):
        mesh.node(timeout=timeout, environ={})


def test_its_client_takes_what_any_client_takes() -> None:
    node, sync, connect = (inspect.signature(f).parameters for f in (mesh.node, mesh.sync.node, mesh.connect))
    assert not set(connect) - set(node) - {"address", "others", "fail_back"}
    assert all(node[name].default == connect[name].default for name in set(node) & set(connect))
    assert list(sync.values()) == list(node.values())


def test_a_home_directory_that_nobody_has_is_refused_by_name() -> None:
    with pytest.raises(BadArgument, match="the home directory ~nobody-of-that-name"):
        made(config="~nobody-of-that-name/mesh.toml")


def test_errors_name_the_place() -> None:
    with pytest.raises(BadConfig, match=r"^mesh\.node\(\): node\.id: "):
        made(name="a b")
    with pytest.raises(BadConfig, match=r"^config=: limits\.sessions"):
        made(config={"limits": {"sessions": 0}})
