"""The rows of a tally, one for each node and store, and their sum."""

# Law: only its node changes a row, and each change has a higher version. So of two copies of a row the one
#      with the higher version counts, whichever arrives later, and the sum counts each addition once.

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mesh.errors import BadName
from mesh.shortening import shown
from mesh.values import check_key
from mesh.wire.calls.tallies import LONGEST_TALLY

ROWS = 4096  # of a tally
TALLIES = 1000  # in a mesh


class Row(NamedTuple):
    """A row: how many additions it counts, and their sum."""

    version: int = 0
    total: int = 0


def merged(copies: Iterable[tuple[str, Row]]) -> Mapping[str, Row]:
    """Return the newest copy of each row, by name of the row."""
    found: dict[str, Row] = {}
    for name, row in copies:
        found[name] = max(found.get(name, Row()), row)
    return found


def sum_of(rows: Mapping[str, Row]) -> int:
    return sum(row.total for row in rows.values())


def check_tally(name: str) -> str:
    """Return the name of a tally if it is valid. Raises: BadName, BadKey."""
    check_key(name)
    if len(name.encode()) > LONGEST_TALLY:
        what = f"The name of a tally {shown(name)} has {len(name.encode())} bytes."
        raise BadName(what, hint=f"Use at most {LONGEST_TALLY} bytes.")
    return name


def row_name(tally: str, uuid: bytes, store: bytes) -> str:
    """Return the name of the shared row of a node. `store` is drawn with its store."""
    return f"{uuid.hex()}.{store.hex()}/{tally}"


def parts_of(name: str) -> tuple[bytes, str, str]:
    """Return the node's uuid, the name of its row, and the tally. Raises: BadName, BadKey."""
    row, _, tally = name.partition("/")
    uuid, _, store = row.partition(".")
    try:
        if len(uuid) == 32 and len(store) == 16 and bytes.fromhex(store):
            return bytes.fromhex(uuid), row, check_tally(tally)
    except ValueError:
        pass
    raise BadName(f"{shown(name)} is no name of a row of a tally.")
