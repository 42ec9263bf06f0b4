"""The rows of spaces in the table `kept` of the node's store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from msgspec import Struct

from mesh.errors import LocalError
from mesh.features.spaces.model.definition import packed, unpacked
from mesh.features.spaces.model.space import NUMBER, Head, Outcome, Outcomes, Value
from mesh.features.spaces.model.votes import Promise
from mesh.operations import Delete, Op, Put
from mesh.wire.codec import pack, reader

TABLE = "kept"
PREFIX = b"spaces/"
HEAD, VALUE, OUTCOMES, PROMISE = b"h", b"v", b"o", b"p"
LARGEST_ROW = 512 * 1024  # bytes


def row_key(kind: bytes, space: str, rest: bytes = b"") -> bytes:
    """Return the key of a row: a value (`rest` is its key), the outcomes of a stream, or one of a space."""
    return PREFIX + kind + b"/" + space.encode() + b"\0" + rest


class _Value(Struct, frozen=True, array_like=True):
    content: bytes
    version: int
    expires: int
    props: bytes


class _Head(Struct, frozen=True, array_like=True):
    generation: int
    count: int
    keys: int
    size: int


class _Outcomes(Struct, frozen=True, array_like=True):
    low: int
    rows: dict[int, tuple[str, int, bytes, bytes]]
    wall: int


class _Promise(Struct, frozen=True, array_like=True):
    generation: int
    accepted: bytes
    ballot: int
    accepted_ballot: int


_read_value, _read_head = reader(_Value, LARGEST_ROW), reader(_Head, LARGEST_ROW)
_read_outcomes, _read_promise = reader(_Outcomes, 64 * LARGEST_ROW), reader(_Promise, LARGEST_ROW)


def put_value(space: str, key: str, value: Value) -> Put:
    row = pack([value.content, value.version, value.expires, value.props])
    return Put(TABLE, row_key(VALUE, space, key.encode()), row)


def delete_value(space: str, key: str) -> Op:
    return Delete(TABLE, row_key(VALUE, space, key.encode()))


def put_head(space: str, head: Head) -> Put:
    row = pack([head.generation, head.count, head.keys, head.size])
    return Put(TABLE, row_key(HEAD, space), row)


def put_outcomes(space: str, stream: bytes, outcomes: Outcomes, wall: int) -> Put:
    rows = {n: [o.code, o.version, o.content, o.props] for n, o in outcomes.rows.items()}
    return Put(TABLE, row_key(OUTCOMES, space, stream), pack([outcomes.low, rows, wall]))


def to_hand(outcomes: Outcomes) -> Outcomes:
    """Return outcomes without large contents, so that they fit into one message."""
    few = {
        n: o if len(o.content) <= NUMBER else replace(o, content=b"", props=b"")
        for n, o in outcomes.rows.items()
    }
    return Outcomes(outcomes.low, few)


def delete_outcomes(space: str, stream: bytes) -> Op:
    return Delete(TABLE, row_key(OUTCOMES, space, stream))


def put_promise(space: str, promise: Promise) -> Op:
    accepted = packed(promise.accepted) if promise.accepted is not None else b""
    row = [promise.generation, accepted, promise.ballot, promise.accepted_ballot]
    return Put(TABLE, row_key(PROMISE, space), pack(row))


def read_value(row: bytes) -> Value:
    found = _read_value(row)
    return Value(found.content, found.version, found.expires, found.props)


def read_head(row: bytes) -> Head:
    found = _read_head(row)
    return Head(found.generation, found.count, found.keys, found.size)


def read_outcomes(row: bytes) -> tuple[Outcomes, int]:
    """Return the outcomes of a session, and the wall time of the last one."""
    found = _read_outcomes(row)
    return Outcomes(found.low, {n: Outcome(*outcome) for n, outcome in found.rows.items()}), found.wall


def read_promise(row: bytes) -> Promise:
    found = _read_promise(row)
    accepted = unpacked(found.accepted) if found.accepted else None
    return Promise(found.generation, found.ballot, accepted, found.accepted_ballot)


def rows_of(kept: dict[bytes, bytes]) -> Iterator[tuple[bytes, str, bytes, bytes]]:
    """Yield the kind, space, rest of the key, and content of each row of a space."""
    for key, row in kept.items():
        if key.startswith(PREFIX):
            kind, space, rest = _parts(key)
            yield kind, space, rest, row


def _parts(key: bytes) -> tuple[bytes, str, bytes]:
    kind = key[len(PREFIX) : len(PREFIX) + 1]
    space, _, rest = key[len(PREFIX) + 2 :].partition(b"\0")
    try:
        return kind, space.decode(), rest
    except UnicodeDecodeError as error:
        raise LocalError("A row of a space has a damaged key.", code="BAD_ROW") from error
