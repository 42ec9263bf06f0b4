"""Both ends of connections, and keys of meshes, for tests of sockets."""

import asyncio
from collections.abc import Callable
from typing import Any

from mesh.errors import Refused
from mesh.security.derive import GOSSIP, SERVER, derived
from mesh.security.keys import Keys, Pair
from mesh.security.signing import curve_pair
from mesh.transport import Key, Sockets
from mesh.transport.guard import Allowance
from tests import waiting

LIMIT = waiting.LIMIT


class End:
    """The sockets of one process, and what they have reported."""

    def __init__(
        self,
        keys: Keys | None = None,
        allowance: Allowance = Allowance(),  # noqa: B008
        failed: Callable[[Key, Refused], None] | None = None,
    ) -> None:
        self.came: list[Any] = []
        self.users: list[str] = []
        self.received: list[tuple[Any, list[bytes]]] = []
        self.gone: list[Any] = []
        self.heard: list[list[bytes]] = []
        self.strangers: list[str] = []
        self.sockets = Sockets(
            asyncio.get_running_loop(),
            self._came,
            lambda key, frames: self.received.append((key, frames)),
            self.gone.append,
            lambda: None,
            keys,
            self.heard.append,
            self.strangers.append,
            failed,
            allowance=allowance,
        )

    def has(self, messages: int) -> bool:
        return len(self.received) == messages

    def _came(self, key: Any, endpoint: str, trusted: bool, user: str) -> None:
        self.came.append(key)
        self.users.append(user)


def node_keys(mine: int, secret: bytes = b"s" * 32, cluster: str = "test") -> Keys:
    """Return the keys of a node of the mesh with this secret; `mine` is any number from 0 to 255."""
    server, gossip = (curve_pair(derived(secret, cluster, job)) for job in (SERVER, GOSSIP))
    return Keys(curve_pair(bytes([mine]) * 32), server, gossip)


def client_keys(mine: int, secret: bytes = b"s" * 32, cluster: str = "test") -> Keys:
    """Return the keys of a client, which has only the public half of the mesh's key."""
    keys = node_keys(mine, secret, cluster)
    return Keys(keys.mine, Pair(keys.server.public))


eventually = waiting.eventually
