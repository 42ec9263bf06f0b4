"""Locks, which the whole mesh shares, and elections."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self

from mesh.client.arguments import seconds, yes_or_no
from mesh.client.content import Content, as_content, own_properties
from mesh.client.message import T
from mesh.client.reading import WHATEVER, ContentReader, reader_of
from mesh.errors import BadArgument, Closed, LocalError, MessageTooLarge
from mesh.features.spaces.client.entry import Entry, value_of
from mesh.features.spaces.client.leases import Use
from mesh.features.spaces.client.space import Space
from mesh.features.spaces.client.watch import Watch
from mesh.features.spaces.model.definition import LOCK, check_space, check_space_key
from mesh.wire.calls.locks import ELECTED
from mesh.wire.properties import decode_properties
from mesh.wire.replies import SpaceRow

if TYPE_CHECKING:
    from mesh.features.spaces.client.spacing import Spacing

LEAST, MOST = 1.0, 60.0  # s, of `lease`
ELECTION, OWNER = "lock-election", "lock-client"  # headers of an election's value


class Lock:
    """A lock by name, which one client at a time holds, as a context manager.

    The home of the lock gives each grant a `token` that is above all tokens before. Pass it on to the systems
    that you change, and let them refuse a lower one: a paused program can act after its lease has ended.

    Example:
        async with m.lock("nightly", lease=30) as lock:
            await store.write(rows, token=lock.token)
    """

    def __init__(
        self,
        client: Spacing,
        name: str,
        lease: float,
        wait: float | None,
        cancel: bool,
        group: str,
        value: Mapping[str, Any] | None = None,
    ) -> None:
        """Create a handle; the node is not contacted yet. Raises: BadName, BadKey, BadArgument."""
        self._space = check_space(f"{LOCK}/{group}")
        self._client, self._name = client, check_space_key(name)
        self._lease = lease_of(lease)
        self._wait = None if wait is None else seconds("wait", wait, zero=True)
        self._cancel = yes_or_no("cancel", cancel)
        self._value = value or {}
        self._use: Use | None = None
        self._scope: asyncio.Timeout | None = None

    @property
    def name(self) -> str:
        """The name of the lock."""
        return self._name

    @property
    def token(self) -> int:
        """The fencing token: above those of all earlier grants of the lock. Raises: Closed before a grant."""
        return self._granted().token

    @property
    def lost(self) -> bool:
        """True if the lease has ended, by the clock of this machine or by the home. Raises: Closed."""
        use = self._granted()
        return use.is_lost or (not use.is_over and self._client._leases_of(self._space).now() >= use.ends)

    @property
    def waiting(self) -> int:
        """The number of clients that waited at the last renewal. Raises: Closed before a grant."""
        return self._granted().waiting

    def _granted(self) -> Use:
        if self._use is None:
            raise Closed("The lock has not been granted.", hint="Use it inside its `async with` block.")
        return self._use

    async def __aenter__(self) -> Self:
        if self._use is not None and not self._use.is_over:
            raise Closed("This lock object is in use.", hint="Create another one for each block.")
        leases = self._client._leases_of(self._space)
        self._use = None
        use = await leases.acquire(self._name, self._lease, self._wait, self._on_lost, dict(self._value))
        if self._cancel:
            self._scope = asyncio.timeout(None)
            await self._scope.__aenter__()
        self._use = use
        return self

    def _on_lost(self) -> None:
        if self._scope is not None:
            self._scope.reschedule(asyncio.get_running_loop().time())

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        use, scope = self._granted(), self._scope
        self._scope = None
        use.is_lost, use.is_over = self.lost, True
        try:
            if scope is not None:
                await scope.__aexit__(kind, error, trace)
                if use.is_lost and kind is None:
                    raise _lost(self._name)
        except TimeoutError:
            raise _lost(self._name) from None
        finally:
            await self._client._leases_of(self._space).release(use)


@dataclass(frozen=True, slots=True)
class Leader(Generic[T]):
    """The winner of an election.

    Attributes:
        client: The name of the client that holds the lock, as the client gives it.
        value: The value that it published.
        token: Its fencing token.
    """

    client: str
    value: T
    token: int


class Elections(Space, Generic[T]):
    """An election by name, as its observers see it."""

    def __init__(self, client: Spacing, name: str, group: str, type: Any) -> None:
        super().__init__(client, f"{LOCK}/{group}")
        self._name = check_space_key(name)
        self._reader: ContentReader = reader_of(client._codec, type) or WHATEVER

    async def leader(self, timeout: float | None) -> Leader[T] | None:
        """Return the leader, or `None`."""
        row, _ = await self._read(self._name, timeout)
        if row is None or not _is_election(row):
            return None
        client = decode_properties(row.props).headers.get(OWNER, "")
        return Leader(client, value_of(row, self._reader, self._space), row.version)

    async def items(self, *, fresh: bool = True) -> list[Entry[T]]:
        """Return the value of the leader, for a watch."""
        row, stale = await self._read(self._name, None, fresh)
        if row is None or not _is_election(row):
            return []
        return [Entry(row.key, value_of(row, self._reader, self._space), row.version, stale=stale)]

    def watch(self) -> Watch[T]:
        """Return the leaders, one after the other."""
        return Watch(self, self._name)


def _is_election(row: SpaceRow) -> bool:
    return ELECTION in decode_properties(row.props).headers


def _lost(name: str) -> LocalError:
    what = f"The lock {name!r} was lost before its block ended; another client may hold it."
    return LocalError(what, hint="Let the systems that you change refuse old tokens.", code="LOCK_LOST")


def lease_of(lease: float) -> float:
    """Return a lease in s. Raises: BadArgument."""
    checked = seconds("lease", lease)
    if not LEAST <= checked <= MOST:
        raise BadArgument(f"lease={lease!r} is invalid.", hint="Use 1 s to 60 s.")
    return checked


def elected(client: Spacing, name: str, value: Content) -> dict[str, Any]:
    """Return the fields of an election's value. Raises: BadType, MessageTooLarge."""
    is_text = isinstance(value, str)
    content, headers = as_content(value, None, client._codec)
    if len(content) > ELECTED:
        what = f"The value of the election {name!r} has {len(content):,} bytes; the limit is {ELECTED:,}."
        raise MessageTooLarge(what, hint="Publish an address instead.")
    props, _ = own_properties(headers, None, 5, client._shell.wall, is_text)
    return {"is_election": True, "content": content, "props": props}
