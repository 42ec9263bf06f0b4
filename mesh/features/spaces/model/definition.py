"""The definition of a space: its kind, home, voters and limits."""

# Law: a generation of a space has one definition (votes.py), so a version of a space is given once.

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from mesh.errors import BadKey, BadName, LocalError, RemoteError
from mesh.features.spaces.model.space import Kind
from mesh.names import node_name
from mesh.shortening import shown
from mesh.values import check_domain, check_key
from mesh.wire.calls.spaces import LONGEST_SPACE, LONGEST_SPACE_KEY
from mesh.wire.codec import pack, reader

MAP, COUNTER, LOCK = "map", "counter", "lock"
KINDS = (MAP, COUNTER, LOCK)
WITHOUT_VALUES = (LOCK,)  # kinds of spaces that begin anew without loss
OPERATIONS: Mapping[str, tuple[Kind, ...]] = {
    MAP: (Kind.PUT, Kind.PUT_IF, Kind.REMOVE),
    COUNTER: (Kind.ADD, Kind.PUT_IF, Kind.REMOVE),
    LOCK: (),  # locks have questions of their own
}
GENERATIONS = 2**22  # so that versions remain below 2**62
HOMES = 1000  # spaces in a mesh
VOTERS = 9  # of a space, at most


class Definition(Struct, frozen=True, array_like=True):
    """The definition of a space. New fields are appended, with a default."""

    home: bytes  # uuid
    node: str  # its name
    generation: int
    max_keys: int
    max_bytes: int
    voters: tuple[bytes, ...] = ()  # uuids; none: the home alone
    version: int = 0  # of the values with which the home begins; 0: without values

    @property
    def is_removed(self) -> bool:
        """Whether this generation ends the space. The next one may begin it anew."""
        return not self.home

    @property
    def electors(self) -> tuple[bytes, ...]:
        """The nodes whose majority lets the home act, and chooses the next definition."""
        return self.voters or (self.home,)


def begins_empty(definition: Definition) -> bool:
    """Return whether the home begins without the values of former generations."""
    return definition.generation > 1 and definition.version == 0


_read = reader(Definition, 4096)


def packed(definition: Definition) -> bytes:
    return pack(msgspec.to_builtins(definition, builtin_types=(bytes,)))


def unpacked(row: bytes) -> Definition:
    """Return the definition in a row. Raises: LocalError BAD_ROW or BAD_NAME."""
    try:
        found = _read(row)
    except RemoteError as error:
        raise LocalError(f"The definition of a space cannot be read: {error.what}.", code="BAD_ROW") from None
    if not found.is_removed:
        node_name(found.node)
    is_sound = all(len(each) == 16 for each in (*found.voters, found.home or bytes(16)))
    is_sound = is_sound and len(found.voters) <= VOTERS and 1 <= found.generation <= GENERATIONS
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
    raise BadName(f"{shown(name)} is no name of a map, counter or lock.", hint=hint)


def check_space_key(key: str) -> str:
    """Return the key of a value if it is valid. Raises: BadKey."""
    check_key(key)
    if len(key.encode()) > LONGEST_SPACE_KEY:
        what = f"The key {shown(key)} has {len(key.encode())} bytes; the limit is {LONGEST_SPACE_KEY}."
        raise BadKey(what, hint="Use a shorter key.")
    return key


def is_without_values(space: str) -> bool:
    """Return whether a space begins anew without loss."""
    return space.partition("/")[0] in WITHOUT_VALUES


def why_command(space: str) -> str:
    """Return the command that explains a space."""
    kind, _, name = space.partition("/")
    return f"mesh lock ls --group {name}" if kind == LOCK else f"mesh why {kind} {name}"


def is_as_wanted(found: Definition | None, wanted: Definition) -> bool:
    """Return whether a definition in effect has the home, limits and voters of a wanted one."""
    if found is None or wanted.is_removed:
        return found is None and wanted.is_removed
    of_found = found.home, found.max_keys, found.max_bytes, found.voters
    return of_found == (wanted.home, wanted.max_keys, wanted.max_bytes, wanted.voters)


def move_command(space: str) -> str:
    """Return the begin of the command that moves a space."""
    kind, _, name = space.partition("/")
    return f"mesh {kind} move {name if kind == MAP else f'--group {name}'}"
