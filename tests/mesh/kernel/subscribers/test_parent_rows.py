"""The stored next hops of domains, and the positions from which refills begin."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from mesh.kernel.subscribers.parent_rows import PREFIX, ParentRow, ParentRows, read_row
from mesh.mapping.strata import Distance

ME, FRODO, SAM, HERON = (name * 16 for name in (b"m", b"f", b"s", b"h"))
NAMES = {"frodo": FRODO, "sam": SAM, "heron": HERON}
DISTANCES = {"NEWS": Distance(("bilbo", "sam", "heron"), 0.0, 1)}


class Slave:
    """The rows of a slave, and what each next hop has sent of the log of heron."""

    def __init__(self, row: ParentRow) -> None:
        self.stored: dict[bytes, bytes] = {PREFIX + b"NEWS": _packed(row)}
        self.upstreams: dict[bytes, Any] = {}
        self.restart()

    def restart(self) -> None:
        disk, beginning = Mock(), Mock()
        disk.later.side_effect = lambda table, key, op: self.stored.update({key: op.value})
        beginning.rows.return_value = dict(self.stored)
        nodes = Mock()
        nodes.named.side_effect = lambda name: _peer(NAMES[name]) if name in NAMES else None
        self.upstreams.clear()
        neighbours: Any = SimpleNamespace(peers={uuid: self._peer(uuid) for uuid in NAMES.values()})
        self.rows = ParentRows(disk, neighbours, nodes)
        self.rows.restore(beginning)

    def _peer(self, uuid: bytes) -> Any:
        return SimpleNamespace(begun=SimpleNamespace(upstreams=_Log(self.upstreams, uuid)))

    def sends(self, hop: bytes, received: int, settled: int) -> None:
        self.upstreams[hop] = SimpleNamespace(received=received, settled=settled)

    def review(self) -> None:
        self.rows.review(ME, lambda domain: "heron", DISTANCES)

    @property
    def on_disk(self) -> ParentRow:
        return read_row(self.stored[PREFIX + b"NEWS"])


class _Log(dict[bytes, Any]):
    def __init__(self, upstreams: dict[bytes, Any], hop: bytes) -> None:
        self._upstreams, self._hop = upstreams, hop

    def get(self, master: bytes, default: Any = None) -> Any:
        return self._upstreams.get(self._hop, default) if master == HERON else default


def _packed(row: ParentRow) -> bytes:
    rows = ParentRows(Mock(), Mock(), Mock())
    rows.store_row("NEWS", row)
    return bytes(rows.disk.later.call_args.args[2].value)  # type: ignore[attr-defined]


def _peer(uuid: bytes) -> Any:
    return SimpleNamespace(node=SimpleNamespace(uuid=uuid))


LINKED: Any = SimpleNamespace(data=object())
UNLINKED: Any = SimpleNamespace(data=None)


def test_a_slave_that_never_had_another_parent_stores_no_positions() -> None:
    slave = Slave(ParentRow("heron", SAM))
    slave.review()
    before = dict(slave.stored)
    slave.sends(SAM, 9, 7)
    slave.review()
    assert slave.stored == before and not slave.on_disk.at
    slave.restart()
    assert not slave.rows.is_due("NEWS", LINKED)


def test_the_refill_after_a_restart_begins_at_the_stored_position() -> None:
    slave = Slave(ParentRow("heron", SAM, FRODO, 5))
    slave.rows.unproven.clear()
    slave.sends(SAM, 9, 7)
    slave.review()
    assert slave.on_disk.at == 8
    slave.restart()
    slave.sends(SAM, 30, 30)  # frodo may have what is before
    slave.review()
    assert slave.on_disk.at == 8
    assert slave.rows.is_due("NEWS", LINKED) and not slave.rows.is_due("NEWS", UNLINKED)
    begun = ParentRow("heron", SAM, FRODO, 8, is_open=True, number=77)
    assert slave.rows.begin_refill("NEWS", SAM, HERON, 77) == (begun, 0)
    assert slave.on_disk == begun
    slave.restart()
    assert slave.rows.is_due("NEWS", UNLINKED), "it is not complete"
    assert slave.rows.begin_refill("NEWS", SAM, HERON, 78) == (begun, 0), "the master knows its number"


def peer_of(uuid: bytes, confirmed: int) -> Any:
    return SimpleNamespace(node=SimpleNamespace(uuid=uuid), confirmed=confirmed)


@pytest.mark.parametrize(("hop", "version", "expected"), [(SAM, 4, True), (SAM, 3, False), (FRODO, 4, False)])
def test_a_next_hop_that_missed_queries_is_asked_for_what_another_route_may_have(
    hop: bytes, version: int, expected: bool
) -> None:
    slave = Slave(ParentRow("heron", SAM, FRODO, 5))
    slave.rows.unproven.clear()
    slave.rows.on_logout(peer_of(hop, 3))
    slave.rows.on_logout(peer_of(hop, -1))
    slave.rows.on_login(peer_of(hop, -1), version)
    assert slave.rows.is_due("NEWS", LINKED) == expected
    slave.rows.store_row("NEWS", ParentRow("heron", SAM))
    assert not slave.rows.is_due("NEWS", LINKED)


def test_another_next_hop_has_missed_nothing() -> None:
    slave = Slave(ParentRow("heron", SAM, FRODO, 5))
    slave.rows.unproven.clear()
    slave.rows.on_logout(peer_of(SAM, 3))
    slave.rows.store_row("NEWS", ParentRow("heron", FRODO, SAM, 5))
    slave.rows.on_login(peer_of(FRODO, -1), 4)
    assert not slave.rows.is_due("NEWS", LINKED)


def test_a_refill_by_another_hop_begins_behind_what_the_former_one_has_sent() -> None:
    slave = Slave(ParentRow("heron", FRODO))
    slave.sends(FRODO, 9, 7)
    begun = ParentRow("heron", SAM, FRODO, 8, is_open=True, number=77)
    assert slave.rows.begin_refill("NEWS", SAM, HERON, 77) == (begun, 9)
    assert slave.on_disk == begun


def test_the_row_has_the_last_node_before_the_master() -> None:
    slave = Slave(ParentRow("", SAM))
    slave.review()
    assert (slave.on_disk.master, slave.on_disk.near) == ("heron", SAM)
    slave.rows.review(ME, lambda domain: "heron", {"NEWS": Distance(("bilbo", "heron"), 0.0, 1)})
    assert slave.on_disk.near == SAM, "of the route by this hop"
