"""The rows of an outbox: messages that a sender delivers after the commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from mesh.features.transactions.database.adapter import Adapter
from mesh.wire.codec import pack, reader
from mesh.wire.limits import MIB

PUBLISH, SEND, PUT = range(3)  # kinds
TOGETHER = 1000  # rows in a statement
ROW_HEADER = "outbox-row"  # header with the uuid of the row


class Terms(msgspec.Struct, frozen=True, array_like=True):
    """The column `properties`: everything of a message but its target, domain and content.

    `properties` are encoded as before the content of a message.
    """

    flags: int
    key: str = ""
    properties: bytes = b""
    expires: int = 0
    put: tuple[int, int, str] | tuple[()] = ()
    xml: str = ""


class _StoredTerms(msgspec.Struct, frozen=True, array_like=True):
    """Terms as they are read; `put` has no fixed length for the decoder."""

    flags: Annotated[int, Meta(ge=0)]
    key: str
    properties: bytes
    expires: Annotated[int, Meta(ge=0)]
    put: tuple[int | str, ...]
    xml: str


_read = reader(_StoredTerms, MIB)


def read_terms(data: bytes) -> Terms:
    """Return the terms of a row. Raises: RemoteError for a damaged one."""
    stored = _read(bytes(data))
    put = msgspec.convert(stored.put, tuple[int, int, str]) if stored.put else ()
    return Terms(stored.flags, stored.key, stored.properties, stored.expires, put, stored.xml)


class OutboxRow(msgspec.Struct, frozen=True):
    """A message before its row is inserted. `target` is the key, the receiver, or the name of the queue."""

    message: str  # uuid
    kind: int
    target: str
    domain: str
    terms: Terms
    content: bytes

    def values(self, stream: int) -> tuple[object, ...]:
        t = self.terms
        packed = pack([t.flags, t.key, t.properties, t.expires, t.put, t.xml])
        return self.message, stream, self.kind, self.target, self.domain, packed, self.content


async def insert_rows(adapter: Adapter, stream: int, rows: Sequence[OutboxRow]) -> None:
    """Insert rows in order, in one statement for each 1,000. Raises: the driver's error."""
    for some in _parts(rows):
        sql = (
            "INSERT INTO heronry_outbox (message, stream, kind, target, domain, properties, content) VALUES "
            + ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * len(some))
        )
        await adapter.execute(sql, [value for row in some for value in row.values(stream)])


def _parts(rows: Sequence[OutboxRow]) -> Iterator[Sequence[OutboxRow]]:
    return (rows[at : at + TOGETHER] for at in range(0, len(rows), TOGETHER))
