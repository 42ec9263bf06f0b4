"""How many connections may come in? Where descriptors run out, ZeroMQ would try in circles to accept more."""

import os
import resource
import socket as sockets
from contextlib import suppress

SPARE = 16  # descriptors, at least, that stay for files, and for connections that we dial
SHARE = 16  # one of so many


def most_guests() -> int:
    """Connections for which there is room, besides what is open now."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, soft - _open() - max(SPARE, soft // SHARE))


def _open() -> int:
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:  # not on this system
        return SPARE


def peer_of(number: int) -> str:
    """The IP address at the other end of a descriptor of ZeroMQ's; "" when it is gone already."""
    try:
        connection = sockets.socket(fileno=number)  # no copy: there may be no descriptor for one
    except OSError:
        return ""
    try:
        return str(connection.getpeername()[0]).removeprefix("::ffff:")
    except (OSError, IndexError):
        return ""
    finally:
        connection.detach()


def turn_away(number: int, endpoint: str) -> None:
    """End a connection that came in at that endpoint; ZeroMQ then closes it."""
    with suppress(OSError):
        connection = sockets.socket(fileno=number)
        try:
            # The number may belong to something else by now.
            if str(connection.getsockname()[1]) == endpoint.rpartition(":")[2]:
                connection.shutdown(sockets.SHUT_RDWR)
        finally:
            connection.detach()
