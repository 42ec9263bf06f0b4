"""The stored certificates of sessions that moved: rows of the table of feeds."""

# Law: a session has at most three rows. "v" has its last certificate, until the session ends here, or has not
# come back `linger` seconds after a start. "w" has its last certificate for this node, which proves later
# that messages of the session may come from here. "h" has the certificate by which a session of this node is
# at another one, and its name belongs to its stream.

from __future__ import annotations

from collections.abc import Container, Iterator
from math import inf

import msgspec

from mesh.flow.bounded import Bounded
from mesh.kernel.context.component import Beginning
from mesh.kernel.context.disk import Disk
from mesh.operations import Delete, Put
from mesh.wire.codec import pack, reader
from mesh.wire.commands import Certificate

STAYS = 10_000  # certificates for this node; the oldest is deleted

_read_row = reader(Certificate, 4096)


def visit_key(stream: bytes) -> bytes:
    """Return the key of the row with the last certificate of a session."""
    return b"v" + stream


def stay_key(stream: bytes) -> bytes:
    """Return the key of the row with the last certificate for this node."""
    return b"w" + stream


def away_key(stream: bytes) -> bytes:
    """Return the key of the row that binds the name of a session of this node, which is at another one."""
    return b"h" + stream


def away_sessions(beginning: Beginning) -> Iterator[Certificate]:
    """Yield the stored certificates of the sessions of this node that are at others."""
    return (_read_row(row) for key, row in beginning.rows("feed").items() if key[:1] == b"h")


def put_row(disk: Disk, key: bytes, certificate: Certificate) -> None:
    row = pack(msgspec.to_builtins(certificate, builtin_types=(bytes,)))
    disk.later("feed", key, Put("feed", key, row))


class VisitRows:
    """Writes and deletes the certificates with the next commit."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._stays = Bounded[bytes, None](STAYS)  # streams with a certificate for this node
        self._restored = set[bytes]()  # streams with a last certificate that an earlier process wrote
        self._due = inf  # time at which those of sessions that did not come back are deleted

    def start(self, beginning: Beginning, due: float) -> Iterator[Certificate]:
        """Yield the stored certificates. `due` is the time until which their sessions may come back."""
        self._due = due
        for key, row in beginning.rows("feed").items():
            if key[:1] == b"w":
                self._stays.keep(key[1:], None)
            if key[:1] == b"v":
                self._restored.add(key[1:])
            if key[:1] in (b"v", b"w"):
                yield _read_row(row)

    def write_visit(self, certificate: Certificate) -> None:
        self._restored.discard(certificate.stream)
        put_row(self._disk, visit_key(certificate.stream), certificate)

    def write_stay(self, certificate: Certificate) -> None:
        put_row(self._disk, stay_key(certificate.stream), certificate)
        if (oldest := self._stays.keep(certificate.stream, None)) is not None:
            self._delete(stay_key(oldest[0]))

    def delete_unused(self, now: float, streams: Container[bytes]) -> list[bytes]:
        """Delete the last certificates of an earlier process whose sessions, not in `streams`, have ended.

        Returns the streams of these sessions; none before it is due.
        """
        if now <= self._due:
            return []
        self._due = inf
        ended = sorted(stream for stream in self._restored if stream not in streams)
        self._restored.clear()
        for stream in ended:
            self.delete_visit(stream)
        return ended

    def delete_visit(self, stream: bytes) -> None:
        self._delete(visit_key(stream))

    def _delete(self, key: bytes) -> None:
        self._disk.later("feed", key, Delete("feed", key))
