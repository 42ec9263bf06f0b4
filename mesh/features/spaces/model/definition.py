"""The definition of a space: its kind, home and limits; and the promises of the nodes that vote for one."""

# Law 1: a node accepts a definition only if it has promised no newer generation.
# Law 2: a definition is in effect once a majority of the known nodes has accepted it. A node that claims a
#        newer generation asks a majority first, and keeps the newest definition that one of them has
#        accepted. So a space never has two definitions with different homes in effect.

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from mesh.errors import BadKey, BadName, LocalError, RemoteError
from mesh.features.spaces.model.space import Kind
from mesh.names import node_name
from mesh.shortening import shown
from mesh.values import check_domain, check_key
from mesh.wire.calls.spaces import LONGEST_SPACE, LONGEST_SPACE_KEY
from mesh.wire.codec import pack, reader

MAP, COUNTER = "map", "counter"
KINDS = (MAP, COUNTER)
OPERATIONS = {MAP: (Kind.PUT, Kind.PUT_IF, Kind.REMOVE), COUNTER: (Kind.ADD, Kind.PUT_IF, Kind.REMOVE)}
GENERATIONS = 2**22  # so that versions remain below 2**62
HOMES = 1000  # spaces in a mesh


class Definition(Struct, frozen=True, array_like=True):
    """The definition of a space. New fields are appended, with a default."""

    home: bytes  # uuid
    node: str  # its name
    generation: int
    max_keys: int
    max_bytes: int


_read = reader(Definition, 4096)


def packed(definition: Definition) -> bytes:
    return pack(msgspec.to_builtins(definition, builtin_types=(bytes,)))


def unpacked(row: bytes) -> Definition:
    """Return the definition in a row. Raises: LocalError BAD_ROW or BAD_NAME."""
    try:
        found = _read(row)
    except RemoteError as error:
        raise LocalError(f"The definition of a space cannot be read: {error.what}.", code="BAD_ROW") from None
    node_name(found.node)
    is_sound = len(found.home) == 16 and 1 <= found.generation <= GENERATIONS
    if not is_sound or found.max_keys < 1 or found.max_bytes < 1:
        raise LocalError("The definition of a space is invalid.", code="BAD_ROW")
    return found


def check_space(name: str) -> str:
    """Return the name of a space, such as `map/prices`, if it is valid. Raises: BadName."""
    kind, _, rest = name.partition("/")
    try:
        if kind in KINDS and rest and len(name.encode()) <= LONGEST_SPACE:
            check_key(rest)
            return check_domain(name)
    except BadKey as error:
        raise BadName(f"{shown(rest)} is no name of a {kind}: {error.what}", hint=error.hint) from None
    hint = f"Names have 1 to {LONGEST_SPACE - 8} bytes, such as map/prices or counter/orders."
    raise BadName(f"{shown(name)} is no name of a map or counter.", hint=hint)


def check_space_key(key: str) -> str:
    """Return the key of a value if it is valid. Raises: BadKey."""
    check_key(key)
    if len(key.encode()) > LONGEST_SPACE_KEY:
        what = f"The key {shown(key)} has {len(key.encode())} bytes; the limit is {LONGEST_SPACE_KEY}."
        raise BadKey(what, hint="Use a shorter key.")
    return key


# --- votes ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Promise:
    """The generation that a node has promised for a space, and the definition that it has accepted."""

    generation: int = 0
    accepted: Definition | None = None


def promised(old: Promise, generation: int) -> Promise | None:
    """Return the promise after a claim, or `None` if a newer or equal generation was promised before."""
    return Promise(generation, old.accepted) if generation > old.generation else None


def accepted(old: Promise, definition: Definition) -> Promise | None:
    """Return the promise with an accepted definition, or `None` after a newer promise (Law 1)."""
    if definition.generation < old.generation:
        return None
    return Promise(definition.generation, definition)


def majority(nodes: int) -> int:
    """Return how many of that many nodes are a majority."""
    return nodes // 2 + 1


def to_propose(wanted: Definition, found: Iterable[Definition | None]) -> Definition:
    """Return the definition to propose after a majority has promised its generation (Law 2)."""
    earlier = [each for each in found if each is not None]
    if not earlier:
        return wanted
    newest = max(earlier, key=lambda each: each.generation)
    return msgspec.structs.replace(newest, generation=wanted.generation)
