"""A table with followers: the rows due to each follower, and the version that it has acknowledged."""

# Law 1: rows are absolute. A follower is sent the rows of a key when it begins to follow the key, and at the
# end of each event that changes them.
# Law 2: the messages to a follower are numbered from 1 without a hole, and start again with its connection.
# Law 3: the version of a follower's request is confirmed by the message with the last due rows. A follower of
# all keys knows a version of the table when it acknowledges the message that completes that version.

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Generic, TypeVar

from mesh.errors import RemoteError

K = TypeVar("K", bound=Hashable)
R = TypeVar("R")  # row
W = TypeVar("W", bound=Hashable)  # follower: a peer or a client's session
Update = tuple[int, int, tuple[R, ...]]  # its number, the confirmed version of the follower's keys, rows


@dataclass(slots=True)
class Follower(Generic[K]):
    """A follower on its current connection."""

    keys: dict[K, None] = field(default_factory=dict)
    due: dict[K, None] = field(default_factory=dict)
    sent: int = 0  # messages
    asked: int = -1  # last complete version of its keys
    confirmed: int = -1  # last version of its keys that was confirmed
    known: int = -1  # last version of the table that it acknowledged
    marks: deque[tuple[int, int]] = field(default_factory=deque)  # message, version that it brings
    _before: dict[K, None] | None = None  # keys not repeated in a full list so far

    def change(
        self, add: Iterable[K], remove: Iterable[K], is_full: bool, has_more: bool
    ) -> tuple[list[K], list[K]]:
        """Change the keys, and return the new and the removed ones."""
        if is_full and self._before is None:
            self._before = dict(self.keys)
        new = []
        for key in add:
            self.due[key] = None
            if self._before is not None:
                self._before.pop(key, None)
            if key not in self.keys:
                self.keys[key] = None
                new.append(key)
        gone = [key for key in remove if key in self.keys]
        if not has_more:
            gone += self._before or ()
            self._before = None
        for key in gone:
            self.keys.pop(key, None)
            self.due.pop(key, None)
        return new, gone


class Mirror(Generic[K, R, W]):
    """The followers of a table. `parts(keys)` yields the rows of the keys in parts, one for each message."""

    def __init__(self, parts: Callable[[Collection[K]], Iterable[tuple[R, ...]]]) -> None:
        self.version = 0  # of the table
        self._parts = parts
        self._followers: dict[W, Follower[K]] = {}
        self._of: dict[K, dict[W, None]] = {}
        self._of_all: dict[W, None] = {}
        self._due: dict[W, None] = {}

    def __len__(self) -> int:
        return len(self._followers)

    def count_keys(self, who: W) -> int:
        return len(self._followers[who].keys)

    def follow(
        self,
        who: W,
        version: int,
        add: Iterable[K],
        remove: Iterable[K] = (),
        is_full: bool = False,
        has_more: bool = False,
    ) -> tuple[list[K], list[K]]:
        """Change the keys that `who` follows, and return (new keys, removed keys).

        A change is one or more calls, all but the last with `has_more`. With `is_full`, the last call removes
        all keys of `who` that the change did not add. The rows of all keys in `add` become due. `version` is
        confirmed with the last due rows.
        """
        follower = self._followers.setdefault(who, Follower())
        new, gone = follower.change(add, remove, is_full, has_more)
        if not has_more:
            follower.asked = version
        for key in new:
            self._of.setdefault(key, {})[who] = None
        self._unfollow(who, gone)
        self._due[who] = None
        return new, gone

    def follow_all(self, who: W, keys: Collection[K]) -> None:
        """Let `who` follow all present and later keys. `keys` are the keys that have rows now.

        Only such a follower acknowledges messages.
        """
        self._followers[who] = Follower(due=dict.fromkeys(keys), known=-1 if keys else self.version)
        self._of_all[who] = self._due[who] = None

    def lost(self, who: W) -> Collection[K]:
        """Remove a follower whose connection is lost, and return the keys that it followed by name."""
        follower = self._followers.pop(who, None)
        self._of_all.pop(who, None)
        self._due.pop(who, None)
        if follower is None:
            return ()
        self._unfollow(who, follower.keys)
        return follower.keys

    def _unfollow(self, who: W, keys: Iterable[K]) -> None:
        for key in keys:
            following = self._of.get(key, {})
            following.pop(who, None)
            if not following:
                self._of.pop(key, None)

    def changed(self, key: K) -> None:
        """Begin a new version of the table, in which the rows of the key have changed."""
        self.version += 1
        for who in chain(self._of.get(key, ()), self._of_all):
            self._followers[who].due[key] = None
            self._due[who] = None

    def updates(self) -> Iterator[tuple[W, Update[R]]]:
        """Yield each due message with its follower."""
        while self._due:
            who, _ = self._due.popitem()
            follower = self._followers[who]
            due, follower.due = follower.due, {}
            parts = list(self._parts(due))
            if follower.asked == follower.confirmed and not parts:
                continue
            for rows in parts[:-1]:
                follower.sent += 1
                yield who, (follower.sent, follower.confirmed, rows)
            follower.confirmed = follower.asked
            follower.sent += 1
            if who in self._of_all:
                follower.marks.append((follower.sent, self.version))
            yield who, (follower.sent, follower.confirmed, parts[-1] if parts else ())

    def acknowledged(self, who: W, number: int, name: str) -> None:
        """Record that `who` has received the messages up to `number`. Raises: RemoteError (FORGED_ACK)."""
        follower = self._followers.get(who)
        if follower is None:
            return
        if number > follower.sent:
            what = f"{name} acknowledged update {number}, but {follower.sent} were sent"
            raise RemoteError(what, code="FORGED_ACK")
        while follower.marks and follower.marks[0][0] <= number:
            _, follower.known = follower.marks.popleft()

    def known_to(self, who: W) -> int:
        """Return the version of the table that `who`, a follower of all keys, has acknowledged, or -1."""
        follower = self._followers.get(who)
        return -1 if follower is None else follower.known
