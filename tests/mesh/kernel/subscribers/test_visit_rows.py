"""The stored certificates of sessions that moved."""

from typing import Any
from unittest.mock import Mock

import pytest

from mesh.kernel.subscribers import visit_rows
from mesh.kernel.subscribers.visit_rows import VisitRows
from mesh.operations import Delete, Put
from mesh.wire.commands import Certificate


def certificate(name: str, attach: int = 1) -> Certificate:
    session = f"/node/heron/client/{name}/session/1"
    return Certificate(session, name.encode().ljust(32), attach, b"n" * 16, bytes(64))


class Table:
    """A table of feeds that is written at once."""

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes] = {}

    def later(self, table: str, key: bytes, op: Any) -> None:
        if isinstance(op, Put):
            self.rows[key] = op.value
        else:
            assert isinstance(op, Delete)
            self.rows.pop(key, None)

    def restarted(self) -> tuple[VisitRows, list[Certificate]]:
        """Return the rows of a new process, and the certificates that it reads."""
        rows = VisitRows(self)  # type: ignore[arg-type]
        return rows, list(rows.start(Mock(rows=lambda table: self.rows), 10.0))


def test_both_certificates_of_a_session_are_read_again() -> None:
    table = Table()
    rows, _ = table.restarted()
    rows.write_stay(certificate("joe"))
    rows.write_visit(certificate("joe", 2))
    assert sorted(each.attach for each in table.restarted()[1]) == [1, 2]
    rows.delete_visit(certificate("joe").stream)
    assert [each.attach for each in table.restarted()[1]] == [1]


def test_restored_certificates_of_sessions_that_do_not_come_back_are_deleted() -> None:
    table = Table()
    rows, _ = table.restarted()
    for name in ("joe", "ann", "bob"):
        rows.write_visit(certificate(name))
    assert rows.delete_unused(11.0, ()) == []
    rows, restored = table.restarted()
    assert len(restored) == 3, "only those of an earlier process are deleted"
    rows.write_visit(certificate("bob", 2))
    assert rows.delete_unused(10.0, ()) == [], "they may still come back"
    assert rows.delete_unused(11.0, {certificate("ann").stream}) == [certificate("joe").stream]
    assert sorted(each.attach for each in table.restarted()[1]) == [1, 2]
    assert rows.delete_unused(12.0, ()) == []
    assert len(table.restarted()[1]) == 2


def test_rows_of_feeds_are_left_alone() -> None:
    table = Table()
    table.rows[b"c" + bytes(20)] = b"a feed"
    assert table.restarted()[1] == []


def test_the_oldest_certificate_for_this_node_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visit_rows, "STAYS", 2)
    table = Table()
    rows, _ = table.restarted()
    for name in ("joe", "ann"):
        rows.write_stay(certificate(name))
    rows, _ = table.restarted()
    rows.write_stay(certificate("eve"))
    names = [each.session.split("/")[4] for each in table.restarted()[1]]
    assert names == ["ann", "eve"]
