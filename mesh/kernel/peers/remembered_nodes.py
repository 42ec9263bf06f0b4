"""The nodes that this node has met, with their addresses and first keys; the list outlives restarts."""

from __future__ import annotations

from collections.abc import Container, Iterator

import msgspec

from mesh.kernel.context.disk import Disk
from mesh.kernel.context.node_context import NodeContext
from mesh.operations import Delete, Put
from mesh.wire.codec import reader
from mesh.wire.commands import Introduction

# Law 1: the first key of a node stays until a user removes the node.
# Law 2: of more than MET nodes, the ones whose last contact is longest ago are forgotten.

MET = 1024  # remembered nodes
FORGOTTEN = 7 * 24 * 3600 * 10**9  # ns after which a remembered node is not dialed


class Met(msgspec.Struct, frozen=True, array_like=True):
    """A remembered node, as it is stored.

    `wall` is the time of the last contact in ns since 1970. `has_queued` means that its queues held messages
    at the last report.
    """

    node: Introduction
    wall: int
    has_queued: bool = False


_read_met = reader(Met, 64 * 1024)


class RememberedNodes:
    """The remembered nodes, in the order of their last contacts."""

    def __init__(self, context: NodeContext, disk: Disk) -> None:
        self._context = context
        self._disk = disk
        self._met: dict[bytes, Met] = {}
        self._old: frozenset[bytes] = frozenset()  # nodes that earlier processes met

    def __iter__(self) -> Iterator[tuple[Introduction, int]]:
        """Iterate over the nodes, each with the time of the last contact in ns since 1970."""
        return ((met.node, met.wall) for met in self._met.values())

    def restore_node(self, uuid: bytes, row: bytes) -> None:
        """Restore a stored node. Raises: MeshError for a damaged row."""
        self._met[uuid] = _read_met(row)

    def on_restored(self) -> None:
        self._met = dict(sorted(self._met.items(), key=lambda item: item[1].wall))
        self._old = frozenset(self._met)

    def latest(self, most: int) -> Iterator[Introduction]:
        """Yield the nodes with an address among the `most` latest ones, if met in the last 7 days."""
        for met in list(self._met.values())[-most:]:
            if met.node.address and self._context.clock.wall - met.wall < FORGOTTEN:
                yield met.node

    def met(self, node: Introduction) -> None:
        """Remember a node for the next start, unless its key differs from the first one."""
        if node.key != (self.key_of(node.uuid) or node.key):
            return  # another node sent this key
        known = self._met.pop(node.uuid, None)
        kept = self._met[node.uuid] = Met(
            node, self._context.clock.wall, known is not None and known.has_queued
        )
        if known is None or known.node != node or kept.wall - known.wall > FORGOTTEN // 7:
            self._write(kept)
        if len(self._met) > MET:
            self.forget_node(next(iter(self._met)))

    def keep_queued(self, uuid: bytes, has_queued: bool) -> None:
        """Store whether the queues of a remembered node hold messages, for the next start."""
        met = self._met.get(uuid)
        if met is not None and met.has_queued != has_queued:
            kept = self._met[uuid] = Met(met.node, met.wall, has_queued)
            self._write(kept)

    def with_queued(self, known: Container[bytes]) -> list[str]:
        """Return the names of remembered nodes, except those in `known`, whose queues held messages."""
        return [met.node.name for uuid, met in self._met.items() if met.has_queued and uuid not in known]

    def _write(self, met: Met) -> None:
        key = b"m" + met.node.uuid
        self._disk.later("peer", key, Put("peer", key, msgspec.msgpack.encode(met)))

    def key_of(self, uuid: bytes) -> bytes:
        """Return the first Ed25519 key of that node, or b"" if the node is not remembered."""
        met = self._met.get(uuid)
        return met.node.key if met is not None else b""

    def has_met(self, uuid: bytes) -> bool:
        return uuid in self._met

    def was_met(self, uuid: bytes) -> bool:
        """Return whether an earlier process of this node met that node."""
        return uuid in self._old

    def forget_node(self, uuid: bytes) -> None:
        del self._met[uuid]
        self._disk.later("peer", b"m" + uuid, Delete("peer", b"m" + uuid))
