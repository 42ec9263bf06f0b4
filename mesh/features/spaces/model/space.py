"""The state of a space at its home, and the outcome of each write."""

# Law 1: each write that changes a value gives it a version above all earlier ones of the space (K2).
# Law 2: `put_if` and `remove` with a version change a value only if it still has this version (K3).
# Law 3: a write that is repeated has the outcome of the first time, and no second effect.
# Law 4: an expired value counts as absent, although its row is deleted later.

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

COUNT_BITS = 40  # of a version; the generation is above them
LEAST, MOST = -(2**63), 2**63 - 1  # values of a counter
NUMBER = 8  # bytes of a counter
OUTCOMES = 64  # remembered outcomes of a session
ROW = 64  # bytes that a value needs beside its key and content


class Kind(Enum):
    """The operations of writes."""

    PUT = "put"
    PUT_IF = "put_if"
    REMOVE = "remove"
    ADD = "add"


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a space. `expires` is in ns since 1970; 0: never."""

    content: bytes
    version: int
    expires: int = 0
    props: bytes = b""  # encoded properties of the content

    def is_present(self, now: int) -> bool:
        return not self.expires or now < self.expires


@dataclass(frozen=True, slots=True)
class Write:
    """A write.

    Attributes:
        kind: The operation.
        key: The key of the value, or the name of a counter.
        content: The value to put.
        version: For `put_if` and `remove`: the version that must be there; 0: no value. -1: any.
        expires: The end of the value in ns since 1970; 0: never.
        amount: The amount to add to a counter.
        props: Encoded properties of the content.
        is_silent: Whether no message reports the change.
    """

    kind: Kind
    key: str = ""
    content: bytes = b""
    version: int = -1
    expires: int = 0
    amount: int = 0
    props: bytes = b""
    is_silent: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a write: the code of an error or "", the version that stands now, and its content."""

    code: str = ""
    version: int = 0
    content: bytes = b""
    props: bytes = b""


@dataclass(frozen=True, slots=True)
class Head:
    """The counts of a space: generation of its home, versions given, keys, and bytes."""

    generation: int = 1
    count: int = 0
    keys: int = 0
    size: int = 0

    @property
    def version(self) -> int:
        """The latest version."""
        return self.generation << COUNT_BITS | self.count


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a space."""

    keys: int = 100_000
    size: int = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Change:
    """The effect of a write: the new counts, the new value of its key or None, and the outcome.

    `is_effective` is False if nothing has changed but the outcome.
    """

    head: Head
    value: Value | None
    outcome: Outcome
    is_effective: bool = True


def decide(head: Head, value: Value | None, write: Write, limits: Limits, now: int) -> Change:
    """Return the effect of a write that was not decided before.

    `value` has the row of the write's key, which may have expired; `now` is in ns since 1970.
    """
    present = value if value is not None and value.is_present(now) else None
    stands = Outcome("", present.version, present.content, present.props) if present else Outcome()
    if write.kind in (Kind.PUT_IF, Kind.REMOVE) and write.version >= 0 and write.version != stands.version:
        return Change(head, value, replace(stands, code="OTHER_VERSION"), is_effective=False)
    if write.kind is Kind.REMOVE:
        return _removed(head, value, write, stands)
    content = write.content
    if write.kind is Kind.ADD:
        total = number_of(stands.content) + write.amount
        if not LEAST <= total <= MOST:
            return Change(head, value, replace(stands, code="OVERFLOW"), is_effective=False)
        content = total.to_bytes(NUMBER, signed=True)
    return _put(head, value, replace(write, content=content), limits, stands)


def _removed(head: Head, value: Value | None, write: Write, stands: Outcome) -> Change:
    if value is None:
        return Change(head, None, stands, is_effective=False)
    after = Head(head.generation, head.count + 1, head.keys - 1, head.size - size_of(write.key, value))
    return Change(after, None, stands)


def _put(head: Head, value: Value | None, write: Write, limits: Limits, stands: Outcome) -> Change:
    count = head.count + 1
    new = Value(write.content, head.generation << COUNT_BITS | count, write.expires, write.props)
    less = size_of(write.key, value) if value is not None else 0
    size = head.size - less + size_of(write.key, new)
    keys = head.keys + (value is None)
    if (keys > limits.keys and value is None) or (size > limits.size and size > head.size):
        return Change(head, value, replace(stands, code="MAP_FULL"), is_effective=False)
    outcome = Outcome(version=new.version, content=new.content if write.kind is Kind.ADD else b"")
    return Change(Head(head.generation, count, keys, size), new, outcome)


def expire(head: Head, key: str, value: Value) -> Head:
    """Return the counts without an expired value."""
    return Head(head.generation, head.count + 1, head.keys - 1, head.size - size_of(key, value))


def number_of(content: bytes) -> int:
    """Return the number in a counter's content, 0 for none."""
    return int.from_bytes(content, signed=True)


def size_of(key: str, value: Value) -> int:
    """Return the bytes that a value counts in the limits of its space."""
    return len(key.encode()) + len(value.content) + len(value.props) + ROW


@dataclass(slots=True)
class Outcomes:
    """The remembered outcomes of one session's writes to a space, by number of the write."""

    low: int = 1  # writes below it are answered
    rows: dict[int, Outcome] = field(default_factory=dict)

    def find(self, count: int) -> Outcome | None:
        """Return the outcome of a write that was decided before, or None for a new one.

        A number that was answered or is too old has the code STALE_WRITE.
        """
        if count in self.rows:
            return self.rows[count]
        return Outcome(code="STALE_WRITE") if count < self.low else None

    def record(self, count: int, low: int, outcome: Outcome) -> None:
        """Remember an outcome, and forget those below `low`, which the client knows."""
        self.rows[count] = outcome
        self.low = max(self.low, min(low, count), count - OUTCOMES + 1)
        for number in [number for number in self.rows if number < self.low]:
            del self.rows[number]
