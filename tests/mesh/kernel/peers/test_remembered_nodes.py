"""The nodes that a node remembers over restarts, with their first keys."""

from typing import Any
from unittest.mock import Mock

import pytest

from mesh.errors import MeshError
from mesh.kernel.peers import remembered_nodes
from mesh.kernel.peers.remembered_nodes import FORGOTTEN, RememberedNodes
from mesh.operations import Delete, Put
from mesh.wire.commands import Introduction

DAY = 24 * 3600 * 10**9


def node(n: int, key: bytes = b"key", address: str = "tcp://h:1") -> Introduction:
    return Introduction(n.to_bytes(16), f"node{n}", 1, address=address, key=key)


class Stage:
    """A node's memory of other nodes, with the rows on its disk, which survive a restart."""

    def __init__(self) -> None:
        self.context, self.disk, self.rows = Mock(clock=Mock(wall=100 * DAY)), Mock(), dict[bytes, bytes]()
        self.writes = 0
        self.disk.later.side_effect = self._write
        self.nodes = RememberedNodes(self.context, self.disk)

    def _write(self, table: str, key: bytes, op: Any) -> None:
        assert table == "peer" and key[:1] == b"m"
        self.writes += 1
        if isinstance(op, Put):
            self.rows[key] = op.value
        else:
            assert isinstance(op, Delete)
            del self.rows[key]

    def restart(self) -> RememberedNodes:
        nodes: RememberedNodes = RememberedNodes(self.context, self.disk)
        for key, row in sorted(self.rows.items()):
            nodes.restore_node(key[1:], row)
        nodes.on_restored()
        self.nodes = nodes
        return nodes

    def meet(self, *numbers: int) -> None:
        for n in numbers:
            self.context.clock.wall += DAY
            self.nodes.met(node(n))


def test_the_first_key_of_a_node_stays_until_it_is_forgotten() -> None:
    stage = Stage()
    stage.meet(1)
    stage.nodes.met(node(1, key=b"other"))
    assert stage.nodes.key_of(node(1).uuid) == b"key"
    nodes = stage.restart()
    nodes.met(node(1, key=b"other"))
    assert (nodes.key_of(node(1).uuid), nodes.was_met(node(1).uuid)) == (b"key", True)
    nodes.forget_node(node(1).uuid)
    nodes.met(node(1, key=b"other"))
    assert nodes.key_of(node(1).uuid) == b"other" and nodes.key_of(node(2).uuid) == b""


def test_the_nodes_met_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered_nodes, "MET", 3)
    stage = Stage()
    stage.meet(1, 2, 3, 1, 4)
    assert [known.name for known, _ in stage.nodes] == ["node3", "node1", "node4"]
    assert [known.name for known, _ in stage.restart()] == ["node3", "node1", "node4"]
    assert len(stage.rows) == 3 and not stage.nodes.has_met(node(2).uuid)


def test_those_with_an_address_are_dialled_for_some_time() -> None:
    stage = Stage()
    stage.meet(1, 2)
    stage.nodes.met(node(3, address=""))
    stage.meet(4)
    assert [each.name for each in stage.nodes.latest(3)] == ["node2", "node4"]
    stage.context.clock.wall += FORGOTTEN - DAY
    assert [each.name for each in stage.nodes.latest(9)] == ["node4"]


def test_queues_with_messages_are_known_over_a_restart_and_further_meetings() -> None:
    stage = Stage()
    stage.meet(1, 2)
    stage.nodes.keep_queued(node(1).uuid, True)
    stage.nodes.keep_queued(node(9).uuid, True)  # a node that was never met
    stage.meet(1)
    nodes = stage.restart()
    assert nodes.with_queued(()) == ["node1"] and nodes.with_queued({node(1).uuid}) == []
    nodes.keep_queued(node(1).uuid, False)
    assert stage.restart().with_queued(()) == []


def test_a_node_is_written_when_something_of_it_is_new_or_once_a_day() -> None:
    stage = Stage()
    stage.nodes.met(node(1))
    for _ in range(9):
        stage.context.clock.wall += DAY // 10
        stage.nodes.met(node(1))
    assert stage.writes == 1
    stage.nodes.met(node(1, address="tcp://h:2"))
    assert stage.writes == 2


def test_a_damaged_row_is_an_error() -> None:
    with pytest.raises(MeshError):
        Stage().nodes.restore_node(b"x" * 16, b"damaged")
