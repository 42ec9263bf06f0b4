"""Questions about maps and counters."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from mesh.discovery.state import Natural
from mesh.wire.calls.ask import Ask, AskPage, Carried, Name

LONGEST_SPACE, LONGEST_SPACE_KEY = 220, 512  # characters; bytes
SPACE_CONTENT = 200 * 1024  # bytes of a value, so that it fits into one CALL and one shared message

SpaceName = Annotated[str, Meta(max_length=LONGEST_SPACE)]
SpaceKey = Annotated[str, Meta(max_length=LONGEST_SPACE_KEY)]
Content = Annotated[bytes, Meta(max_length=SPACE_CONTENT)]
Packed = Annotated[bytes, Meta(max_length=64 * 1024)]


class AskSpaceWrite(Carried, frozen=True, kw_only=True):
    """Change a value of a map or counter at its home. Nodes pass the question on to the home.

    A question that is repeated with the same number gets the outcome of the first time.

    Attributes:
        space: Name of the space, such as `map/prices`.
        op: `put`, `put_if`, `remove` or `add`.
        key: Key of the value.
        content: Value to put.
        props: Its encoded properties.
        version: For `put_if` and `remove`: version that must be there; 0: no value; -1: any.
        ttl: Lifetime of the value in ms. 0: no limit.
        amount: For `add`: number to add.
        number: Number of the write: 1, 2, 3, … for each space and client.
        low: Lowest number without an answer.
        writer: Public Ed25519 key of the client's stream.
        signature: Its signature of "heronry write" and the fields above in MessagePack.
    """

    verb = "space_write"
    space: SpaceName
    op: Annotated[str, Meta(max_length=16)]
    key: SpaceKey = ""
    content: Content = b""
    props: Packed = b""
    version: Annotated[int, Meta(ge=-1, le=2**63 - 1)] = -1
    ttl: Natural = 0
    amount: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] = 0
    number: Annotated[int, Meta(ge=1, le=2**53)]
    low: Annotated[int, Meta(ge=1, le=2**53)]
    writer: Annotated[bytes, Meta(min_length=32, max_length=32)]
    signature: Annotated[bytes, Meta(max_length=64)] = b""


class AskSpaceRead(Carried, frozen=True, kw_only=True):
    """Return values of a map or counter from its home.

    Attributes:
        space: Name of the space.
        key: Key of the value. Empty: all keys, in pages.
        after: Key after which a page begins.
        limit: Highest number of values in a page. 0: as many as fit.
        fresh: Whether only the home may answer. Otherwise copies are read while it does not act.
    """

    verb = "space_read"
    space: SpaceName
    key: SpaceKey = ""
    after: SpaceKey = ""
    limit: Natural = 0
    fresh: bool = True


class AskSpaces(AskPage, frozen=True, kw_only=True):
    """Return the definitions of all maps and counters that the node knows.

    Attributes:
        prefix: First part of the names, such as `map/`.
    """

    verb = "spaces"
    prefix: SpaceName = ""


class AskSpaceDeclare(Carried, frozen=True, kw_only=True):
    """Create a map or counter, or change its limits and voters.

    Attributes:
        space: Name of the space.
        home: Name of its home. Empty: the node that is asked.
        max_keys: Limit of keys. 0: unchanged; 100,000 if it is new.
        max_bytes: Limit of bytes of keys and values. 0: unchanged; 64 MiB if it is new.
        voters: Names of its voters. Empty: unchanged; chosen if it is new.
    """

    verb = "space_declare"
    space: SpaceName
    home: Name = ""
    max_keys: Annotated[int, Meta(ge=0, le=10**6)] = 0
    max_bytes: Annotated[int, Meta(ge=0, le=2**30)] = 0
    voters: Annotated[list[Name], Meta(max_length=9)] = []


class AskSpaceMove(Carried, frozen=True, kw_only=True):
    """Move a map or counter to another home, with all values and outcomes.

    Attributes:
        space: Name of the space.
        to: Name of the new home.
        force: The home is lost. The new home begins with copies of other nodes.
        stopped: With `force`: names of the home and of voters that an operator states to be stopped for good.
            All other voters must agree. Needed for a home without voters, and if most voters are lost.
        accept_loss: With `force`: move it. Otherwise the answer only counts the copies.
    """

    verb = "space_move"
    space: SpaceName
    to: Name
    force: bool = False
    stopped: Annotated[list[Name], Meta(max_length=8)] = []
    accept_loss: bool = False


class AskSpaceCopies(Ask, frozen=True, kw_only=True):
    """Return the copies of values that a node has.

    Attributes:
        space: Name of the space.
        after: Key after which a page begins.
        limit: Highest number of values in a page. 0: as many as fit.
    """

    verb = "space_copies"
    space: SpaceName
    after: SpaceKey = ""
    limit: Natural = 0


class AskSpaceRemove(Carried, frozen=True, kw_only=True):
    """Remove a map or a group of counters with all values.

    Attributes:
        space: Name of the space.
    """

    verb = "space_remove"
    space: SpaceName


class AskSpaceHand(Ask, frozen=True, kw_only=True):
    """Store rows of a space before its home hands it over.

    Attributes:
        space: Name of the space.
        first: Whether these are the first rows, before which the node forgets earlier ones.
        rows: For each row: its kind, the rest of its key, and its content.
    """

    verb = "space_hand"
    space: SpaceName
    first: bool = False
    rows: list[tuple[bytes, bytes, bytes]] = []


class AskSpaceClaim(Ask, frozen=True, kw_only=True):
    """Promise to accept no definition of an older ballot, or accept a definition.

    Attributes:
        space: Name of the space.
        generation: Generation that the definition is for.
        ballot: Ballot of the asking node.
        before: Definition of the generation before, in MessagePack. Empty: the space is new.
        definition: Definition to accept, in MessagePack. Empty: only promise.
    """

    verb = "space_claim"
    space: SpaceName
    generation: Annotated[int, Meta(ge=1, le=2**22)]
    ballot: Annotated[int, Meta(ge=1, le=2**53)]
    before: Packed = b""
    definition: Packed = b""


class AskSpaceBeat(Ask, frozen=True, kw_only=True):
    """Confirm that the asking node is the home of spaces. It acts as their home only with such answers.

    Attributes:
        spaces: Names of the spaces and their generations.
    """

    verb = "space_beat"
    spaces: Annotated[list[tuple[SpaceName, Natural]], Meta(max_length=2000)]
