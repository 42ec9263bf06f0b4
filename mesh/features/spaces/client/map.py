"""Maps: values by key, which the whole mesh shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic

from mesh.client.arguments import whole
from mesh.client.content import Content, as_content, own_properties
from mesh.client.message import T
from mesh.client.reading import WHATEVER, reader_of
from mesh.errors import MessageTooLarge
from mesh.features.spaces.client.entry import Entry, lifetime_of, value_of
from mesh.features.spaces.client.space import ANY, MoveReport, Space
from mesh.features.spaces.client.watch import Watch
from mesh.features.spaces.model.definition import MAP, check_space_key
from mesh.wire.calls.spaces import SPACE_CONTENT
from mesh.wire.replies import SpaceRow, SpaceWritten

if TYPE_CHECKING:
    from mesh.features.spaces.client.spacing import Spacing

VERSION = 2**63 - 1


class Map(Space, Generic[T]):
    """A map by name: values by key, at one node, its home.

    Each write is on the disk of the home before it is answered. Writes and reads of one key are linearizable:
    a read that begins after a write was answered returns this write, or a later one. While the home is
    unreachable, both fail.

    Example:
        prices = m.map("prices")
        version = await prices.put("apple", 0.5, ttl=60)
    """

    def __init__(self, client: Spacing, name: str, type: Any = None) -> None:
        """Create a handle; the node is not contacted yet. Raises: BadName."""
        super().__init__(client, f"{MAP}/{name}")
        self._name = name
        self._reader = reader_of(client._codec, type) or WHATEVER

    @property
    def name(self) -> str:
        """The name of the map."""
        return self._name

    async def declare(
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
            await m.map("prices").declare(home="heron", max_keys=1000)
        """
        keys = 0 if max_keys is None else whole("max_keys", max_keys, 1, 10**6)
        size = 0 if max_bytes is None else whole("max_bytes", max_bytes, 1, 1 << 30)
        return (await self._declare(home, keys, size, voters)).home

    async def move(
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
            await m.map("prices").move("stork")
        """
        return await self._move(to, force, stopped, accept_loss, timeout)

    async def drop(self, *, timeout: float | None = None) -> None:
        """Remove the map with all values. Its next use creates it anew, with higher versions.

        Args:
            timeout: As for `put`.

        Raises:
            LocalError: NO_SPACE, NODE_AWAY, NODES_AWAY.

        Example:
            await m.map("prices").drop()
        """
        await self._drop(timeout)

    async def put(
        self, key: str, value: Content, *, ttl: float | None = None, timeout: float | None = None
    ) -> int:
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
            version = await m.map("prices").put("apple", 0.5)
        """
        return (await self._put("put", key, value, ANY, ttl, timeout)).version

    async def put_if(
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
            entry = await prices.get("apple")
            await prices.put_if("apple", entry.value + 1, version=entry.version)
        """
        found = await self._put("put_if", key, value, whole("version", version, 0, VERSION), ttl, timeout)
        return None if found.code else found.version

    async def _put(
        self, op: str, key: str, value: Content, version: int, ttl: float | None, timeout: float | None
    ) -> SpaceWritten:
        check_space_key(key)
        is_text = isinstance(value, str)
        content, headers = as_content(value, None, self._client._codec)
        if len(content) > SPACE_CONTENT:
            what = f"The value of {key!r} has {len(content):,} bytes; the limit is {SPACE_CONTENT:,}."
            raise MessageTooLarge(what, hint="Publish it, or store it elsewhere and put its place.")
        props, _ = own_properties(headers, None, 5, self._client._shell.wall, is_text)
        lifetime = 0 if ttl is None else lifetime_of(ttl)
        return await self._write(
            op, key, timeout, content=content, props=props, version=version, ttl=lifetime
        )

    async def get(self, key: str, *, fresh: bool = True, timeout: float | None = None) -> Entry[T] | None:
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
            entry = await prices.get("apple")
        """
        row, is_stale = await self._read(check_space_key(key), timeout, fresh)
        return self._entry(row, is_stale) if row is not None else None

    async def items(self, *, fresh: bool = True, timeout: float | None = None) -> list[Entry[T]]:
        """Return all values, by key.

        Args:
            fresh: As for `get`.
            timeout: Seconds to wait for each page of values. Default: the client's patience.

        Raises:
            BadContent, LocalError: As for `get`.

        Example:
            for entry in await prices.items():
                print(entry.key, entry.value)
        """
        return [self._entry(row, is_stale) async for row, is_stale in self._rows(timeout, fresh)]

    async def remove(self, key: str, *, version: int | None = None, timeout: float | None = None) -> bool:
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
            await prices.remove("apple")
        """
        wanted = ANY if version is None else whole("version", version, 1, VERSION)
        found = await self._write("remove", check_space_key(key), timeout, version=wanted)
        return not found.code and found.version > 0

    def watch(self, pattern: str = "#") -> Watch[T]:
        """Return the present values that match a pattern, then each change, without end.

        Args:
            pattern: A pattern of keys, as for topics.

        Raises:
            BadPattern: The pattern is invalid.

        Example:
            async for change in prices.watch("fruit/#"):
                print(change.kind, change.key, change.value)
        """
        return Watch(self, pattern)

    def _entry(self, row: SpaceRow, is_stale: bool) -> Entry[T]:
        value = value_of(row, self._reader, self._space)
        return Entry(row.key, value, row.version, row.expires, is_stale)
