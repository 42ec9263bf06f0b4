"""A replicated row, and the order that decides between two versions."""

# Law 1: of two rows with the same kind and name, the one with the higher rank wins at every node,
# permanently. Nodes with the same rows have the same table, in whatever order the rows arrived.
# Law 2: a row without a value is a deletion. It is kept for a month, unless there are too many (table.py), so
# a node that was unreachable for less time cannot revive the row.

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from hashlib import blake2b
from typing import Annotated

import msgspec
from msgspec import Meta

from mesh.discovery.state import Natural, Uuid
from mesh.errors import LocalError
from mesh.wire.limits import KIB

VALUE = 240 * KIB  # maximum bytes, so a row fits in one message
DIGEST = 8  # bytes

NOBODY = bytes(16)  # author of rows by the admin

KindName = Annotated[str, Meta(pattern=r"^[a-z]{1,16}\Z")]
Rank = tuple[int, bytes, bytes]


class SharedRow(msgspec.Struct, frozen=True, array_like=True, dict=True):
    """A named row of a replicated table. New fields go to the end and have a default."""

    kind: KindName
    name: Annotated[str, Meta(max_length=255)]
    stamp: Natural  # hybrid clock when it was written
    value: Annotated[bytes, Meta(max_length=VALUE)]  # b"": deleted
    author: Uuid  # uuid of the node that wrote it; NOBODY: the admin
    boot: Natural  # boot of that node
    key: Annotated[bytes, Meta(max_length=32)] = b""  # author's Ed25519 key; b"" in a mesh without keys
    signature: Annotated[bytes, Meta(max_length=64)] = b""

    @cached_property
    def rank(self) -> Rank:
        """The rank of the row: of two versions the one with the higher rank wins."""
        return self.stamp, self.author, self._hash

    def signed(self, key: bytes, sign: Callable[[bytes], bytes]) -> SharedRow:
        row = msgspec.structs.replace(self, key=key)
        return msgspec.structs.replace(row, signature=sign(row.text))

    @property
    def place(self) -> tuple[int, str]:
        """The position of the row in the order of replication: timestamp and name."""
        return self.stamp, self.name

    @cached_property
    def _hash(self) -> bytes:
        return blake2b(self.value, digest_size=DIGEST).digest()

    @property
    def title(self) -> str:
        """The row as text for users, such as "queue row 'jobs'"."""
        return f"{self.kind[:40]} row" + (f" {self.name[:80]!r}" if self.name else "")

    @property
    def text(self) -> bytes:
        """The bytes that the signature covers."""
        fields = (self.kind, self.name, self.stamp, self.value, self.author, self.boot, self.key)
        return b"heronry row\0" + msgspec.msgpack.encode(fields)


def row_of(values: object) -> SharedRow:
    """Return the row with these field values. Raises: LocalError, BAD_ROW."""
    try:
        return msgspec.convert(values, SharedRow, builtin_types=(bytes,))
    except msgspec.ValidationError as error:
        raise LocalError(f"A shared row cannot be read: {error}.", code="BAD_ROW") from error


def read(packed: bytes) -> SharedRow:
    """Return the row that is encoded in `packed`. Raises: LocalError, BAD_ROW."""
    try:
        return _decode(packed)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise LocalError(f"A shared row cannot be read: {error}.", code="BAD_ROW") from error


def packed(row: SharedRow) -> bytes:
    return msgspec.msgpack.encode(row)


_decode = msgspec.msgpack.Decoder(SharedRow).decode
