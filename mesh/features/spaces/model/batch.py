"""A batch of writes to a space, which become visible together when they are on disk."""

# Law: a batch is decided on the committed state. It changes nothing before `apply`, so that readers see only
#      what is on disk, and a batch that could not be stored leaves nothing behind.

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from mesh.features.spaces.model.space import (
    COUNT_BITS,
    Head,
    Limits,
    Outcome,
    Outcomes,
    Value,
    Write,
    decide,
    expire,
    size_of,
)


@dataclass(slots=True)
class SpaceState:
    """The committed state of a space at its home."""

    head: Head = field(default_factory=Head)
    values: dict[str, Value] = field(default_factory=dict)
    outcomes: dict[bytes, Outcomes] = field(default_factory=dict)  # by stream


@dataclass(frozen=True, slots=True)
class Numbered:
    """A write of a session, with its number and the lowest number without an answer.

    The home's own writes have the stream b"", and no number.
    """

    stream: bytes
    number: int
    low: int
    write: Write


@dataclass(frozen=True, slots=True)
class Changed:
    """A change of a value: its new value or `None`, and the version of the change."""

    key: str
    value: Value | None
    version: int
    is_expiry: bool = False
    is_silent: bool = False  # no message reports it


class Batch:
    """Writes on top of a committed state."""

    def __init__(self, state: SpaceState, limits: Limits, now: int) -> None:
        self._state = state
        self._limits = limits
        self._now = now
        self.head = state.head
        self.changes: list[Changed] = []
        self.outcomes: dict[bytes, Outcomes] = {}
        self._values: dict[str, Value | None] = {}

    def _value(self, key: str) -> Value | None:
        return self._values[key] if key in self._values else self._state.values.get(key)

    def _outcomes(self, stream: bytes) -> Outcomes:
        known = self.outcomes.get(stream)
        if known is None:
            old = self._state.outcomes.get(stream, Outcomes())
            known = self.outcomes[stream] = Outcomes(old.low, dict(old.rows))
        return known

    def add_write(self, numbered: Numbered) -> Outcome:
        """Decide a write, or return the outcome of the first time if it is a repeat."""
        if not numbered.stream:
            return self._decide(numbered.write)
        known = self._outcomes(numbered.stream)
        found = known.find(numbered.number)
        if found is not None:
            return found
        outcome = self._decide(numbered.write)
        known.record(numbered.number, numbered.low, outcome)
        return outcome

    def _decide(self, write: Write) -> Outcome:
        change = decide(self.head, self._value(write.key), write, self._limits, self._now)
        if change.is_effective:
            self._change(write.key, change.value, change.head, is_silent=write.is_silent)
        return change.outcome

    def add_expiry(self, key: str) -> None:
        """Remove a value if it has expired."""
        value = self._value(key)
        if value is not None and not value.is_present(self._now):
            self._change(key, None, expire(self.head, key, value), is_expiry=True)

    def _change(
        self, key: str, value: Value | None, head: Head, is_expiry: bool = False, is_silent: bool = False
    ) -> None:
        self._values[key], self.head = value, head
        self.changes.append(Changed(key, value, head.version, is_expiry, is_silent))

    def values(self) -> Iterator[tuple[str, Value | None]]:
        """Yield the last value of each key that changes."""
        return iter(self._values.items())

    def apply(self) -> None:
        """Make the batch visible."""
        self._state.head = self.head
        self._state.outcomes.update(self.outcomes)
        for key, value in self._values.items():
            if value is None:
                self._state.values.pop(key, None)
            else:
                self._state.values[key] = value


def with_generation(head: Head, generation: int) -> Head:
    """Return the counts of a space under a newer generation of its home; versions begin above all before."""
    return head if generation <= head.generation else replace(head, generation=generation, count=0)


FORCED = 1 << (COUNT_BITS - 1)  # bit of a count that no write reaches: the values are copies


def is_forced(version: int) -> bool:
    """Return whether a generation that begins with the values of this version begins with copies."""
    return bool(version & FORCED)


def begin_with_copies(state: SpaceState, generation: int) -> None:
    """Give each copy a version of the new generation, so that no version of before counts."""
    size = sum(size_of(key, value) for key, value in state.values.items())
    for count, key in enumerate(sorted(state.values), 1):
        state.values[key] = replace(state.values[key], version=generation << COUNT_BITS | count)
    state.head = Head(generation, len(state.values), len(state.values), size)
    state.outcomes.clear()
