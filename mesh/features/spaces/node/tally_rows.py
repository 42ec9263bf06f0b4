"""The rows of tallies on the disk of their node, in the table `kept`, and in the shared table."""

from __future__ import annotations

from msgspec import Struct

from mesh.errors import LocalError, RemoteError
from mesh.features.spaces.model.space import Outcome, Outcomes
from mesh.features.spaces.model.tally import Row
from mesh.operations import Delete, Op, Put
from mesh.wire.codec import pack, reader

TABLE = "kept"
STORE, OWN, OUTCOMES = b"tally/store", b"tally/row/", b"tally/outcomes/"


class _Row(Struct, frozen=True, array_like=True):
    version: int
    total: int


class _Outcomes(Struct, frozen=True, array_like=True):
    low: int
    rows: dict[int, str]


_read_row, _read_outcomes = reader(_Row, 1024), reader(_Outcomes, 64 * 1024)


def put_store(store: bytes) -> Op:
    return Put(TABLE, STORE, store)


def put_row(tally: str, store: bytes, row: Row) -> Op:
    return Put(TABLE, OWN + store + tally.encode(), packed(row))


def put_outcomes(tally: str, stream: bytes, outcomes: Outcomes) -> Op:
    codes = {number: outcome.code for number, outcome in outcomes.rows.items()}
    return Put(TABLE, OUTCOMES + stream + tally.encode(), pack([outcomes.low, codes]))


def delete_outcomes(tally: str, stream: bytes) -> Op:
    return Delete(TABLE, OUTCOMES + stream + tally.encode())


def packed(row: Row) -> bytes:
    return pack([row.version, row.total])


def read_row(content: bytes) -> Row:
    """Return the row. Raises: LocalError BAD_ROW."""
    try:
        found = _read_row(content)
    except RemoteError as error:
        raise LocalError(f"A row of a tally cannot be read: {error.what}.", code="BAD_ROW") from None
    return Row(found.version, found.total)


def read_outcomes(content: bytes) -> Outcomes:
    found = _read_outcomes(content)
    return Outcomes(found.low, {number: Outcome(code) for number, code in found.rows.items()})
