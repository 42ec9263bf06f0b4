"""Finds and closes, in a forked child, the ZeroMQ connections that belong to its parent."""

# Law 1: a TCP connection belongs to this package if it has the limit UNANSWERED, an odd number that no other
# program sets.
# Law 2: a listening TCP socket belongs to this package if its address was bound by one of its sockets.
# Law 3: a Unix socket belongs to this package if the path of one end was bound or dialed by one of its
# sockets.
# Law 4: a descriptor that these laws do not name stays open: it is the program's own.

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from weakref import WeakSet

from mesh.forks import close_in_child
from mesh.transport.options import UNANSWERED

UNIX = "ipc://"
FAMILIES = (socket.AF_INET, socket.AF_INET6)


class Endpoints:
    """The addresses that the sockets of one owner have bound, and the paths that they have dialed."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        _LIVING.all.add(self)

    def add(self, address: str, is_bound: bool = False) -> None:
        """Record an address.

        Dialed TCP addresses are not kept, because Law 1 recognizes their connections.
        """
        if is_bound or address.startswith(UNIX):
            self._names.add(address)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def clear(self) -> None:
        """Forget the addresses after all sockets are closed."""
        self._names.clear()
        _LIVING.all.discard(self)


class LivingEndpoints:
    """The endpoints of all owners, so that a child searches its descriptors only once."""

    def __init__(self) -> None:
        self.all: WeakSet[Endpoints] = WeakSet()

    def close_copies(self) -> None:
        close_ours(self.all)


_LIVING = LivingEndpoints()


def close_ours(living: Collection[Endpoints]) -> None:
    """Close this process's copies of the sockets of this package.

    `living` has the addresses of all owners. Nothing is closed if it is empty, or if the system is not Linux,
    because other systems cannot list descriptors this way.
    """
    if not living or sys.platform != "linux":
        return
    names = frozenset(name for endpoints in living for name in endpoints)
    usual = socket.getdefaulttimeout()
    # Otherwise examining a descriptor would make it non-blocking in all processes.
    socket.setdefaulttimeout(None)
    try:
        for text in os.listdir("/proc/self/fd"):
            with suppress(OSError):  # no socket, or only open for the listing
                if os.readlink(f"/proc/self/fd/{text}").startswith("socket:"):
                    _close_if_ours(int(text), names)
    finally:
        socket.setdefaulttimeout(usual)


def _close_if_ours(number: int, names: Collection[str]) -> None:
    it = socket.socket(fileno=number)
    try:
        found = is_ours(it, names)
    finally:
        it.detach()
    if found:
        os.close(number)


def is_ours(it: socket.socket, names: Collection[str]) -> bool:
    """Return whether the socket belongs to this package, by its addresses in `names` or by its TCP limit."""
    if it.family == socket.AF_UNIX:
        return UNIX + _text(it.getsockname()) in names or UNIX + _peer(it) in names
    if it.family not in FAMILIES or it.type != socket.SOCK_STREAM:
        return False
    if it.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        host, port = it.getsockname()[:2]
        return (f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}") in names
    return it.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == UNANSWERED


def _peer(it: socket.socket) -> str:
    with suppress(OSError):  # no peer
        return _text(it.getpeername())
    return ""


def _text(name: str | bytes) -> str:
    """Return the path of a Unix socket. Abstract paths never belong to this package."""
    return name if isinstance(name, str) else os.fsdecode(name)


close_in_child(_LIVING, LivingEndpoints.close_copies)
