"""A row that all nodes of a mesh share: who wrote it, and which of two counts."""

# Law 1: of two rows with one kind and name the one with the higher rank counts, at every node and for good.
#        So all that have heard the same rows have the same table, in whatever order they came.
# Law 2: a row without a value is a deletion. It is kept for a month (table.py): whoever was away for less
#        brings nothing back.

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from hashlib import blake2b
from typing import Annotated

import msgspec
from msgspec import Meta

from discovery.state import Natural, Uuid
from mesh.errors import LocalError
from mesh.wire.limits import KIB

VALUE = 240 * KIB  # bytes of a value at most: a row travels in one message
DIGEST = 8  # bytes

NOBODY = bytes(16)  # as the author of a row that no node has written, but the admin

KindName = Annotated[str, Meta(pattern=r"^[a-z]{1,16}\Z")]
Rank = tuple[int, bytes, bytes]


class SharedRow(msgspec.Struct, frozen=True, array_like=True, dict=True):
    """One named thing. A field added later goes to the end with a default."""

    kind: KindName
    name: Annotated[str, Meta(max_length=255)]
    stamp: Natural  # the hybrid clock when it was written
    value: Annotated[bytes, Meta(max_length=VALUE)]  # b"": it was deleted
    author: Uuid  # the node that wrote it; NOBODY: the admin
    boot: Natural  # of that node
    key: Annotated[bytes, Meta(max_length=32)] = b""  # the author's Ed25519 key; b"" in a mesh without keys
    signature: Annotated[bytes, Meta(max_length=64)] = b""

    @cached_property
    def rank(self) -> Rank:
        """The rank of a row: the highest counts."""
        return self.stamp, self.author, self._hash

    def signed(self, key: bytes, sign: Callable[[bytes], bytes]) -> SharedRow:
        """The row with the signature of whoever has that key."""
        row = msgspec.structs.replace(self, key=key)
        return msgspec.structs.replace(row, signature=sign(row.text))

    @property
    def place(self) -> tuple[int, str]:
        """The place of a row in the order in which rows are told."""
        return self.stamp, self.name

    @cached_property
    def _hash(self) -> bytes:
        return blake2b(self.value, digest_size=DIGEST).digest()

    @property
    def text(self) -> bytes:
        """The text that the signature is of."""
        fields = (self.kind, self.name, self.stamp, self.value, self.author, self.boot, self.key)
        return b"heronry row\0" + msgspec.msgpack.encode(fields)


def row_of(values: object) -> SharedRow:
    """A row from its fields in a list. LocalError BAD_ROW."""
    try:
        return msgspec.convert(values, SharedRow, builtin_types=(bytes,))
    except msgspec.ValidationError as error:
        raise LocalError(f"this is no row that nodes share: {error}.", code="BAD_ROW") from error


def read(packed: bytes) -> SharedRow:
    """A row as `packed` wrote it. LocalError BAD_ROW."""
    try:
        return _decode(packed)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise LocalError(f"this is no row that nodes share: {error}.", code="BAD_ROW") from error


def packed(row: SharedRow) -> bytes:
    """As it is stored."""
    return msgspec.msgpack.encode(row)


_decode = msgspec.msgpack.Decoder(SharedRow).decode
