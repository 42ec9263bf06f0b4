"""Replies to questions about maps and counters."""

from __future__ import annotations

from msgspec import Struct

from mesh.wire.replies.value import ReplyValue


class SpaceWritten(ReplyValue, frozen=True, kw_only=True):
    """The outcome of a write.

    Attributes:
        code: `OTHER_VERSION`, `OVERFLOW`, `MAP_FULL` or `STALE_WRITE`. Empty: success.
        version: The version that is there now. 0: no value.
        content: With an error or after `add` and `remove`: the value that is, or was, there.
        props: Its encoded properties.
    """

    code: str = ""
    version: int = 0
    content: bytes = b""
    props: bytes = b""


class SpaceRow(Struct, frozen=True, kw_only=True):
    """A value of a map or counter.

    Attributes:
        key: Its key.
        content: Its content.
        props: Its encoded properties.
        version: Its version.
        expires: Its end, in ns since 1970. 0: never.
    """

    key: str
    content: bytes
    props: bytes = b""
    version: int
    expires: int = 0


class SpaceRows(ReplyValue, frozen=True, kw_only=True):
    """Values of a map or counter.

    Attributes:
        rows: The values, by key.
        next: Value of `after` for the next page. Empty: this was the last.
        version: The latest version of the space.
        keys: Number of keys.
        bytes: Bytes of keys and values.
        stale: Whether these are copies, which may be old.
    """

    rows: list[SpaceRow] = []
    next: str = ""
    version: int = 0
    keys: int = 0
    bytes: int = 0
    stale: bool = False


class SpaceDefined(Struct, frozen=True, kw_only=True):
    """The definition of a map or counter.

    Attributes:
        name: Its name, such as `map/prices`.
        home: Name of its home.
        generation: Generation of its home.
        max_keys: Limit of keys.
        max_bytes: Limit of bytes.
        voters: Names of its voters. Empty: its home alone.
    """

    name: str
    home: str
    generation: int
    max_keys: int
    max_bytes: int
    voters: list[str] = []


class SpaceList(ReplyValue, frozen=True, kw_only=True):
    """Definitions, by name.

    Attributes:
        spaces: The definitions.
        next: Value of `after` for the next page. Empty: this was the last.
    """

    spaces: list[SpaceDefined] = []
    next: str = ""


class SpaceClaimed(ReplyValue, frozen=True, kw_only=True):
    """The answer of a voter to a claim.

    Attributes:
        granted: Whether the voter has stored it.
        ballot: The highest ballot that it has promised.
        accepted: The definition that it has accepted, in MessagePack. Empty: none.
        accepted_ballot: The ballot of this definition.
        current: The definition in effect, if it is newer than the asking node knows.
        wait: Seconds until it votes without the home, whose heartbeats it has received. 0: no such wait.
    """

    granted: bool = False
    ballot: int = 0
    accepted: bytes = b""
    accepted_ballot: int = 0
    current: bytes = b""
    wait: float = 0.0


class SpaceBeaten(ReplyValue, frozen=True, kw_only=True):
    """The answer of a voter to the heartbeat of a home.

    Attributes:
        refused: The spaces for which it has voted for another home.
    """

    refused: list[str] = []


class SpaceMoved(ReplyValue, frozen=True, kw_only=True):
    """The outcome of a move.

    Attributes:
        spaces: The definition in effect. Empty: nothing was moved.
        copies: With `force`: number of values that the new home begins with.
        oldest: Age of the oldest copy in s.
        newest: Age of the newest copy in s.
    """

    spaces: list[SpaceDefined] = []
    copies: int = 0
    oldest: float = 0.0
    newest: float = 0.0


class SpaceCopies(ReplyValue, frozen=True, kw_only=True):
    """Copies of values.

    Attributes:
        rows: The copies, by key.
        ages: For each, the seconds since it was the current value.
        next: Value of `after` for the next page. Empty: this was the last.
    """

    rows: list[SpaceRow] = []
    ages: list[float] = []
    next: str = ""
