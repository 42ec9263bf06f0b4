"""Maps and counters without an event loop.

Generated from mesh/features/spaces/client/counter.py and mesh/features/spaces/client/map.py
and mesh/features/spaces/client/spacing.py and mesh/features/spaces/client/watch.py: change
that, and type `tools/generate_sync`.
"""

from __future__ import annotations

from mesh.client.content import Content
from mesh.client.message import T
from mesh.features.spaces.client.map import Entry
from mesh.sync.connected import Connected
from mesh.sync.spaces import ThreadCounter, ThreadMap, ThreadWatch


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

    def declare(self, *, home: str = "", max_keys: int = 100_000, max_bytes: int = 64 << 20) -> str:
        """Create the map. If it exists with the same home and limits, nothing changes.

        Without it, the first use creates the map, at the node of the client that uses it.

        Args:
            home: The node that keeps the map. Default: the client's node.
            max_keys: Limit of keys, at most 1,000,000.
            max_bytes: Limit of bytes of keys and values, at most 1 GiB.

        Returns:
            The name of the home.

        Raises:
            BadArgument: A limit is invalid.
            LocalError: SPACE_EXISTS: its home or limits differ; NODES_AWAY: too few nodes are reachable.

        Example:
            m.map("prices").declare(home="heron", max_keys=1000)
        """
        return self._run(None, lambda: self._aio.declare(home=home, max_keys=max_keys, max_bytes=max_bytes))

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

    def get(self, key: str, *, timeout: float | None = None) -> Entry[T] | None:
        """Return the value of a key, or None.

        Args:
            key: The key.
            timeout: Seconds to wait. Default: the client's patience.

        Raises:
            BadKey, BadContent: The key is invalid, or the value is not of the map's type.
            LocalError: NODE_AWAY: the home of the map is unreachable.

        Example:
            entry = prices.get("apple")
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.get(key, timeout=left()))

    def items(self, *, timeout: float | None = None) -> list[Entry[T]]:
        """Return all values, by key.

        Args:
            timeout: Seconds to wait for each page of values. Default: the client's patience.

        Raises:
            BadContent, LocalError: As for `get`.

        Example:
            for entry in prices.items():
                print(entry.key, entry.value)
        """
        left = self._left(timeout)
        return self._run(left(), lambda: self._aio.items(timeout=left()))

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


class Watch(ThreadWatch[T]):
    """An iterator over the present values of a map, then over its changes: `for change in watch`."""

    def close(self) -> None:
        """End the watch."""
        super().close()


class Spacing(Connected):
    """The client's calls that return the handles of maps and counters."""

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
