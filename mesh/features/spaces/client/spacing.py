"""The client's calls that return the handles of maps, counters, locks and tallies."""

from __future__ import annotations

from functools import cached_property

from mesh.client.content import Content
from mesh.client.message import T
from mesh.client.posting import Posting
from mesh.features.spaces.client.counter import Counter
from mesh.features.spaces.client.leases import Leases
from mesh.features.spaces.client.lock import Elections, Leader, Lock, elected
from mesh.features.spaces.client.map import Map
from mesh.features.spaces.client.space import Numbers
from mesh.features.spaces.client.tally import Tally
from mesh.features.spaces.client.watch import Watch


class Spacing(Posting):
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
            await prices.put("apple", 0.5)
        """
        return Map(self, name, type)

    def counter(self, name: str, *, group: str = "default") -> Counter:
        """Return a handle of the counter, with `add`, `value` and `put_if`. Nothing is sent yet.

        Args:
            name: The name of the counter, which need not exist yet.
            group: The group of counters; the counters of a group have one home.

        Raises:
            BadName, BadKey: An argument is invalid.

        Example:
            number = await m.counter("orders").add()
        """
        return Counter(self, name, group)

    def tally(self, name: str) -> Tally:
        """Return a handle of the tally, with `add` and `value`. Nothing is sent yet.

        Args:
            name: The name of the tally, at most 180 bytes; it need not exist yet.

        Raises:
            BadName, BadKey: The name is invalid.

        Example:
            await m.tally("clicks").add()
        """
        return Tally(self, name)

    def lock(
        self,
        name: str,
        *,
        lease: float = 30.0,
        wait: float | None = None,
        cancel: bool = False,
        group: str = "default",
    ) -> Lock:
        """Return a lock, which one client at a time holds: `async with` waits for it, renews and releases it.

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
            async with m.lock("nightly", lease=30) as lock:
                await store.write(rows, token=lock.token)
        """
        return Lock(self, name, lease, wait, cancel, group)

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
        """Return a lock with a value: `async with` waits until this client is the leader.

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
            async with m.elect("leader", "heron:80") as term:
                while not term.lost:
                    await lead(term.token)
        """
        return Lock(self, name, lease, wait, cancel, group, elected(self, name, value))

    async def leader(
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
            leader = await m.leader("leader")
        """
        return await Elections[T](self, name, group, type).leader(timeout)

    def watch_leader(self, name: str, *, type: type[T] | None = None, group: str = "elections") -> Watch[T]:
        """Return the value of the present leader of an election, then each change, without end.

        Args:
            name: The name of the election.
            type: As for `leader`.
            group: As for `leader`.

        Raises:
            BadName, BadKey, BadType: An argument is invalid.

        Example:
            async for change in m.watch_leader("leader"):
                print(change.value)
        """
        return Elections[T](self, name, group, type).watch()

    @cached_property
    def _space_leases(self) -> dict[str, Leases]:
        return {}

    def _leases_of(self, space: str) -> Leases:
        return self._space_leases.setdefault(space, Leases(self, space))

    @cached_property
    def _space_numbers(self) -> dict[str, Numbers]:
        return {}

    def _numbers_of(self, space: str) -> Numbers:
        return self._space_numbers.setdefault(space, Numbers())
