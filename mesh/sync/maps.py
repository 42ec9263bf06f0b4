"""Maps, counters, locks and tallies without an event loop.

Generated from mesh/features/spaces/client/counter.py and mesh/features/spaces/client/lock.py
and mesh/features/spaces/client/map.py and mesh/features/spaces/client/spacing.py and
mesh/features/spaces/client/tally.py and mesh/features/spaces/client/watch.py: change that, and
type `tools/generate_sync`.
"""

from __future__ import annotations

from collections.abc import Sequence

from mesh.client.content import Content
from mesh.client.message import T
from mesh.features.spaces.client.entry import Entry
from mesh.features.spaces.client.lock import Leader
from mesh.features.spaces.client.space import MoveReport
from mesh.features.spaces.client.tally import TallyValue
from mesh.sync.connected import Connected
from mesh.sync.spaces import ThreadCounter, ThreadLock, ThreadMap, ThreadTally, ThreadWatch


class Map(ThreadMap[T]):
    """A map by name, with the calls of `mesh.Map`.

    Example:
        prices = m.map("prices")
        version = prices.put("apple", 0.5, ttl=60)
    """

    @property
    def name(self) -> str:
        """The name of the map."""
        return self._aio.name

    def declare(
        self,
        *,
        home: str = "",
        max_keys: int | None = None,
        max_bytes: int | None = None,
        voters: Sequence[str] = (),
    ) -> str:
        """Create the map, or change the limits and voters that are given. The home stays.

        Without it, the first use creates the map, at the node of the client that uses it.

        Args:
            home: The node that keeps the map. Default: the client's node.
            max_keys: Limit of keys, at most 1,000,000. Default: unchanged; 100,000 for a new map.
            max_bytes: Limit of bytes of keys and values, at most 1 GiB. Default: unchanged; 64 MiB.
            voters: The nodes that confirm the home, which is one of them. Default: chosen for a new map.

        Returns:
            The name of the home.

        Raises:
            BadArgument: A limit is invalid.
            LocalError: SPACE_EXISTS: its home differs; NODES_AWAY: too few nodes are reachable.

        Example:
            m.map("prices").declare(home="heron", max_keys=1000)
        """
        return self._run(
            None, lambda: self._aio.declare(home=home, max_keys=max_keys, max_bytes=max_bytes, voters=voters)
        )

    def move(
        self,
        to: str,
        *,
        force: bool = False,
        stopped: str | Sequence[str] = (),
        accept_loss: bool = False,
        timeout: float | None = None,
    ) -> MoveReport:
        """Move the map to another home, which gets all values. Writes wait meanwhile.

        Args:
            to: The new home. The present home: only choose its voters anew.
            force: Whether the home is lost, so the new one begins with copies that other nodes have.
            stopped: With `force`: the home and the voters that you state to be lost for good. Needed if the
                map has no voters, or most of them are lost. All others must agree.
            accept_loss: With `force`: whether to move. Otherwise the copies are only counted.
            timeout: Seconds to wait. Default: the client's patience. The move goes on after it.

        Raises:
            BadArgument: `stopped` or `accept_loss` without `force`.
            LocalError: NO_SPACE, NODE_AWAY, NODES_AWAY, or NOT_HOME during another move. With `force`: also
                HOME_ALIVE, NOT_STOPPED, or SPACE_EXISTS if `to` is the home.

        Example:
            m.map("prices").move("stork")
        """
        left = self._left(timeout)
        return self._run(
            left(),
            lambda: self._aio.move(to, force=force, stopped=stopped, accept_loss=accept_loss, timeout=left()),
        )

    def drop(self, *, timeout: float | None = None) -> None:
        """Remove the map with all values. Its next use creates it anew, with higher versions.

        Args:
            timeout: As for `put`.

        Raises:
            LocalError: NO_SPACE, NODE_AWAY, NODES_AWAY.

        Example:
            m.map("prices").drop()
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.drop(timeout=left()))

    def put(self, key: str, value: Content, *, ttl: float | None = None, timeout: float | None = None) -> int:
        """Set the value of a key.

        Args:
            key: The key, as for topics; at most 512 bytes.
            value: bytes, str, or a value for the client's codec; at most 200 KiB.
            ttl: Seconds until the value disappears, 0.1 s to 10 years. Default: never.
            timeout: Seconds to wait. Default: the client's patience.

        Returns:
            The version of the value.

        Raises:
            BadKey, BadArgument, MessageTooLarge: An argument is invalid.
            LocalError: MAP_FULL, NODE_AWAY, NODES_AWAY, STORE_FULL.
            MeshTimeout: No answer in time: the value may have been set.

        Example:
            version = m.map("prices").put("apple", 0.5)
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.put(key, value, ttl=ttl, timeout=left()))

    def put_if(
        self,
        key: str,
        value: Content,
        *,
        version: int,
        ttl: float | None = None,
        timeout: float | None = None,
    ) -> int | None:
        """Set the value of a key if it has a certain version.

        Args:
            key: The key.
            value: As for `put`.
            version: The version that must be there. 0: only if there is no value.
            ttl: As for `put`.
            timeout: As for `put`.

        Returns:
            The new version, or None if another version is there.

        Raises:
            BadKey, BadArgument, MessageTooLarge, LocalError, MeshTimeout: As for `put`.

        Example:
            entry = prices.get("apple")
            prices.put_if("apple", entry.value + 1, version=entry.version)
        """
        left = self._left(timeout)
        return self._run(
            left(), lambda: self._aio.put_if(key, value, version=version, ttl=ttl, timeout=left())
        )

    def get(self, key: str, *, fresh: bool = True, timeout: float | None = None) -> Entry[T] | None:
        """Return the value of a key, or None.

        Args:
            key: The key.
            fresh: Whether only the home may answer. False: while it does not, return a copy that the client's
                node has, which may be old (`Entry.stale`).
            timeout: Seconds to wait. Default: the client's patience.

        Raises:
            BadKey, BadContent: The key is invalid, or the value is not of the map's type.
            LocalError: NODE_AWAY: the home is unreachable; NO_LEASH: its voters do not confirm it.

        Example:
            entry = prices.get("apple")
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.get(key, fresh=fresh, timeout=left()))

    def items(self, *, fresh: bool = True, timeout: float | None = None) -> list[Entry[T]]:
        """Return all values, by key.

        Args:
            fresh: As for `get`.
            timeout: Seconds to wait for each page of values. Default: the client's patience.

        Raises:
            BadContent, LocalError: As for `get`.

        Example:
            for entry in prices.items():
                print(entry.key, entry.value)
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.items(fresh=fresh, timeout=left()))

    def remove(self, key: str, *, version: int | None = None, timeout: float | None = None) -> bool:
        """Remove a value.

        Args:
            key: The key.
            version: Only if it has this version. Default: whatever its version.
            timeout: As for `put`.

        Returns:
            Whether there was a value, with that version.

        Raises:
            BadKey, BadArgument, LocalError, MeshTimeout: As for `put`.

        Example:
            prices.remove("apple")
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.remove(key, version=version, timeout=left()))

    def watch(self, pattern: str = "#") -> Watch[T]:
        """Return the present values that match a pattern, then each change, without end.

        Args:
            pattern: A pattern of keys, as for topics.

        Raises:
            BadPattern: The pattern is invalid.

        Example:
            for change in prices.watch("fruit/#"):
                print(change.kind, change.key, change.value)
        """
        return Watch(self._client, self._thread, self._aio.watch(pattern))


class Counter(ThreadCounter):
    """A counter by name, with the calls of `mesh.Counter`.

    Example:
        number = m.counter("orders").add(1)
    """

    @property
    def name(self) -> str:
        """The name of the counter."""
        return self._aio.name

    def add(self, amount: int = 1, *, timeout: float | None = None) -> int:
        """Add to the counter, which begins at 0.

        Args:
            amount: The amount, which may be negative.
            timeout: Seconds to wait. Default: the client's patience.

        Returns:
            The new value.

        Raises:
            BadArgument: The amount is not a whole number of 64 bits.
            LocalError: OVERFLOW, NODE_AWAY, NODES_AWAY, STORE_FULL.
            MeshTimeout: No answer in time: the amount may have been added.

        Example:
            number = m.counter("orders").add()
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.add(amount, timeout=left()))

    def value(self, *, timeout: float | None = None) -> int:
        """Return the value of the counter.

        Args:
            timeout: Seconds to wait. Default: the client's patience.

        Raises:
            LocalError: NODE_AWAY, NODES_AWAY.

        Example:
            print(m.counter("orders").value())
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.value(timeout=left()))

    def items(self, *, timeout: float | None = None) -> dict[str, int]:
        """Return the values of all counters of the group, by name.

        Args:
            timeout: Seconds to wait for each page of values. Default: the client's patience.

        Raises:
            LocalError: NODE_AWAY, NODES_AWAY.

        Example:
            print(m.counter("orders").items())
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.items(timeout=left()))

    def put_if(self, value: int, *, expected: int, timeout: float | None = None) -> bool:
        """Set the counter if it has a certain value.

        Args:
            value: The new value.
            expected: The value that must be there.
            timeout: As for `add`.

        Returns:
            Whether it was set.

        Raises:
            BadArgument, LocalError, MeshTimeout: As for `add`.

        Example:
            m.counter("orders").put_if(0, expected=99)
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.put_if(value, expected=expected, timeout=left()))

    def move(
        self,
        to: str,
        *,
        force: bool = False,
        stopped: str | Sequence[str] = (),
        accept_loss: bool = False,
        timeout: float | None = None,
    ) -> MoveReport:
        """Move the group of the counter to another home. Additions wait meanwhile.

        Args:
            to: The new home. The present home: only choose its voters anew.
            force: As for `Map.move`.
            stopped: As for `Map.move`.
            accept_loss: As for `Map.move`.
            timeout: As for `Map.move`.

        Raises:
            BadArgument, LocalError: As for `Map.move`.

        Example:
            m.counter("orders").move("stork")
        """
        left = self._left(timeout)
        return self._run(
            left(),
            lambda: self._aio.move(to, force=force, stopped=stopped, accept_loss=accept_loss, timeout=left()),
        )

    def remove(self, *, timeout: float | None = None) -> bool:
        """Remove the counter, which begins at 0 again.

        Args:
            timeout: As for `add`.

        Returns:
            Whether it existed.

        Raises:
            LocalError, MeshTimeout: As for `add`.

        Example:
            m.counter("orders").remove()
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.remove(timeout=left()))

    def drop_group(self, *, timeout: float | None = None) -> None:
        """Remove the group of the counter with all its counters. Its next use creates it anew.

        Args:
            timeout: As for `add`.

        Raises:
            LocalError: NO_SPACE, NODE_AWAY, NODES_AWAY.

        Example:
            m.counter("orders", group="2026").drop_group()
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.drop_group(timeout=left()))


class Lock(ThreadLock):
    """A lock by name, which one client at a time holds, as a context manager.

    The home of the lock gives each grant a `token` that is above all tokens before. Pass it on to the systems
    that you change, and let them refuse a lower one: a paused program can act after its lease has ended.

    Example:
        with m.lock("nightly", lease=30) as lock:
            store.write(rows, token=lock.token)
    """

    @property
    def name(self) -> str:
        """The name of the lock."""
        return self._aio.name

    @property
    def token(self) -> int:
        """The fencing token: above those of all earlier grants of the lock. Raises: Closed before a grant."""
        return self._aio.token

    @property
    def lost(self) -> bool:
        """True if the lease has ended, by the clock of this machine or by the home. Raises: Closed."""
        return self._aio.lost

    @property
    def waiting(self) -> int:
        """The number of clients that waited at the last renewal. Raises: Closed before a grant."""
        return self._aio.waiting


class Tally(ThreadTally):
    """A tally by name, with the calls of `mesh.Tally`.

    Example:
        m.tally("clicks").add(1)
    """

    @property
    def name(self) -> str:
        """The name of the tally."""
        return self._aio.name

    def add(self, amount: int = 1, *, timeout: float | None = None) -> None:
        """Add to the tally, which begins at 0.

        Args:
            amount: The amount, which may be negative.
            timeout: Seconds to wait. Default: the client's patience.

        Raises:
            BadArgument: The amount is not a whole number of 64 bits.
            LocalError: OVERFLOW, TOO_MANY_ROWS, STORE_FULL. NODE_AWAY: the client has lost its node, and the
                amount may have been added.
            MeshTimeout: No answer in time: the amount may have been added.

        Example:
            m.tally("clicks").add()
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.add(amount, timeout=left()))

    def value(self, *, timeout: float | None = None) -> TallyValue:
        """Return the value of the tally.

        Args:
            timeout: Seconds to wait. Default: the client's patience.

        Raises:
            LocalError: OVERFLOW: the sum exceeds 64 bits.

        Example:
            found = m.tally("clicks").value()
            print(found.value, found.missing)
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.value(timeout=left()))


class Watch(ThreadWatch[T]):
    """An iterator over the present values of a map, then over its changes: `for change in watch`."""

    def close(self) -> None:
        """End the watch."""
        super().close()


class Spacing(Connected):
    """The client's calls that return the handles of maps, counters, locks and tallies."""

    def map(self, name: str, *, type: type[T] | None = None) -> Map[T]:
        """Return a handle of the map, with `put`, `get`, `watch` and more. Nothing is sent yet.

        Args:
            name: The name of the map, which need not exist yet.
            type: The type of its values, as for `subscribe`.

        Raises:
            BadName, BadType: An argument is invalid.

        Example:
            prices = m.map("prices", type=float)
            prices.put("apple", 0.5)
        """
        return Map(self._client, self._thread, self._aio.map(name, type=type))

    def counter(self, name: str, *, group: str = "default") -> Counter:
        """Return a handle of the counter, with `add`, `value` and `put_if`. Nothing is sent yet.

        Args:
            name: The name of the counter, which need not exist yet.
            group: The group of counters; the counters of a group have one home.

        Raises:
            BadName, BadKey: An argument is invalid.

        Example:
            number = m.counter("orders").add()
        """
        return Counter(self._client, self._thread, self._aio.counter(name, group=group))

    def tally(self, name: str) -> Tally:
        """Return a handle of the tally, with `add` and `value`. Nothing is sent yet.

        Args:
            name: The name of the tally, at most 180 bytes; it need not exist yet.

        Raises:
            BadName, BadKey: The name is invalid.

        Example:
            m.tally("clicks").add()
        """
        return Tally(self._client, self._thread, self._aio.tally(name))

    def lock(
        self,
        name: str,
        *,
        lease: float = 30.0,
        wait: float | None = None,
        cancel: bool = False,
        group: str = "default",
    ) -> Lock:
        """Return a lock, which one client at a time holds: `with` waits for it, renews and releases it.

        Clients get the lock in the order in which they asked.

        Args:
            name: The name of the lock, which need not exist yet.
            lease: Seconds after which the lock of a client that no longer renews it is free, 1 to 60.
            wait: Seconds to wait for the lock. 0: not at all. Default: without limit.
            cancel: Whether to cancel the block when the lock is lost, which then raises LOCK_LOST.
            group: The group of locks; the locks of a group have one home.

        Raises:
            BadName, BadKey, BadArgument: An argument is invalid.
            LocalError: At the begin of the block: LOCK_HELD after `wait`, TOO_MANY_LOCKS, NODE_AWAY,
                NODES_AWAY. At its end: LOCK_LOST.

        Example:
            with m.lock("nightly", lease=30) as lock:
                store.write(rows, token=lock.token)
        """
        return Lock(
            self._client,
            self._thread,
            self._aio.lock(name, lease=lease, wait=wait, cancel=cancel, group=group),
        )

    def elect(
        self,
        name: str,
        value: Content = b"",
        *,
        lease: float = 30.0,
        wait: float | None = None,
        cancel: bool = False,
        group: str = "elections",
    ) -> Lock:
        """Return a lock with a value: `with` waits until this client is the leader.

        The other clients see the value with `leader` and `watch_leader`.

        Args:
            name: The name of the election.
            value: bytes, str, or a value for the client's codec, such as an address; at most 16 KiB.
            lease: As for `lock`.
            wait: As for `lock`.
            cancel: As for `lock`.
            group: The group of elections, which have one home.

        Raises:
            BadName, BadKey, BadArgument, MessageTooLarge: An argument is invalid.
            LocalError: As for `lock`.

        Example:
            with m.elect("leader", "heron:80") as term:
                while not term.lost:
                    lead(term.token)
        """
        return Lock(
            self._client,
            self._thread,
            self._aio.elect(name, value, lease=lease, wait=wait, cancel=cancel, group=group),
        )

    def leader(
        self,
        name: str,
        *,
        type: type[T] | None = None,
        group: str = "elections",
        timeout: float | None = None,
    ) -> Leader[T] | None:
        """Return the leader of an election, or None.

        Args:
            name: The name of the election.
            type: The type of its value, as for `subscribe`.
            group: The group of elections.
            timeout: Seconds to wait. Default: the client's patience.

        Raises:
            BadName, BadKey, BadType, BadContent: An argument or the value is invalid.
            LocalError: NODE_AWAY, NODES_AWAY.

        Example:
            leader = m.leader("leader")
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.leader(name, type=type, group=group, timeout=left()))

    def watch_leader(self, name: str, *, type: type[T] | None = None, group: str = "elections") -> Watch[T]:
        """Return the value of the present leader of an election, then each change, without end.

        Args:
            name: The name of the election.
            type: As for `leader`.
            group: As for `leader`.

        Raises:
            BadName, BadKey, BadType: An argument is invalid.

        Example:
            for change in m.watch_leader("leader"):
                print(change.value)
        """
        return Watch(self._client, self._thread, self._aio.watch_leader(name, type=type, group=group))
