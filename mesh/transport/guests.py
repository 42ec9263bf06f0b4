"""How many connections may come in? Where descriptors run out, ZeroMQ would try in circles to accept more."""

import os
import resource

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
