"""The changes of a map, one after the other."""

# Law: for each key, versions only grow. A change that is not newer than what the reader has is dropped.

from __future__ import annotations

from collections import deque
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol

from mesh.client.message import Message, T
from mesh.client.subscription import Subscription
from mesh.features.spaces.model.space import COUNT_BITS
from mesh.patterns import check_pattern, matches

if TYPE_CHECKING:
    from mesh.client.reading import ContentReader
    from mesh.features.spaces.client.entry import Entry
    from mesh.features.spaces.client.spacing import Spacing

PUT, REMOVED, EXPIRED, GAP = "put", "removed", "expired", "gap"
HEADERS = {"space-version": PUT, "space-removed": REMOVED, "space-expired": EXPIRED}


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """A change of a map.

    Attributes:
        kind: "put", "removed", "expired", or "gap": changes were missed, and the present values follow.
        key: The key; "" for a gap.
        value: The new value; None unless the kind is "put".
        version: The version of the change.
    """

    kind: str
    key: str
    value: T | None
    version: int


class Watched(Protocol[T]):
    """A part of a space that can be watched: a map, or an election."""

    _client: Spacing
    _space: str
    _reader: ContentReader

    async def items(self, *, fresh: bool = True) -> list[Entry[T]]:
        """Return the present values."""


class Watch(Generic[T]):
    """An iterator over the present values of a map, then over its changes: `async for change in watch`.

    Example:
        async for change in m.map("prices").watch():
            print(change.kind, change.key, change.value)
    """

    def __init__(self, map: Watched[T], pattern: str) -> None:
        self._map = map
        self._pattern = check_pattern(pattern)
        self._stack = AsyncExitStack()
        self._messages: Subscription[Any] | None = None
        self._versions: dict[str, int] = {}
        self._ready: deque[Change[T]] = deque()
        self._dropped = 0
        self._generation = 0  # of the newest version
        self._is_stale = False  # the values were read while the home did not act

    def __aiter__(self) -> Watch[T]:
        return self

    async def __anext__(self) -> Change[T]:
        if self._messages is None:
            await self._begin()
        while not self._ready:
            assert self._messages is not None
            message = await anext(self._messages)
            if self._has_missed(message):
                self._dropped = self._messages.dropped
                await self._read_again()
            self._take(message)
        return self._ready.popleft()

    async def aclose(self) -> None:
        """End the watch."""
        await self._stack.aclose()

    async def _begin(self) -> None:
        client, space = self._map._client, self._map._space
        made = client.subscribe(pattern=self._pattern, domain=space, initial=False)  # type: ignore[attr-defined]
        self._messages = await self._stack.enter_async_context(made)
        await self._read_values()

    def _has_missed(self, message: Message[Any]) -> bool:
        """Return whether changes may have been missed: the map has moved, or the values read were copies."""
        assert self._messages is not None
        generation = described(message)[1] >> COUNT_BITS
        is_newer = 0 < self._generation < generation
        self._generation = max(self._generation, generation)
        return self._messages.dropped > self._dropped or is_newer or self._is_stale

    async def _read_again(self) -> None:
        """Report a gap, then the values that are newer than those of the reader, and the removals."""
        self._ready.append(Change(GAP, "", None, max(self._versions.values(), default=0)))
        before = set(self._versions)
        for key in sorted(before - await self._read_values()):
            self._ready.append(Change(REMOVED, key, None, self._versions.pop(key)))

    async def _read_values(self) -> set[str]:
        """Add the present values that the reader does not have, and return all present keys."""
        found = set[str]()
        self._is_stale = False
        for entry in await self._map.items(fresh=False):
            self._is_stale = self._is_stale or entry.stale
            self._generation = max(self._generation, entry.version >> COUNT_BITS)
            if matches(self._pattern, entry.key):
                found.add(entry.key)
                if entry.version > self._versions.get(entry.key, 0):
                    self._versions[entry.key] = entry.version
                    self._ready.append(Change(PUT, entry.key, entry.value, entry.version))
        return found

    def _take(self, message: Message[Any]) -> None:
        kind, version = described(message)
        if version <= self._versions.get(message.key, 0):
            return
        self._versions[message.key] = version
        value = message._value_by(self._map._reader) if kind == PUT else None
        self._ready.append(Change(kind, message.key, value, version))


def described(message: Message[Any]) -> tuple[str, int]:
    """Return the kind and version of the change in a message, or version 0 if it is none."""
    for header, kind in HEADERS.items():
        text = message.headers.get(header)
        if text is not None and text.isdecimal() and len(text) < 20:
            return kind, int(text)
    return "", 0
