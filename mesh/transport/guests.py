"""Limit of inbound connections: without free descriptors, ZeroMQ would loop in accept."""

import os
import resource

# Minimum of descriptors for files, and for outbound connections.
SPARE = 16
SHARE = 16  # divisor: 1/SHARE of the descriptors are reserved


def most_guests() -> int:
    """Return how many further connections fit into the limit of descriptors."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, soft - _open() - max(SPARE, soft // SHARE))


def _open() -> int:
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:  # not available on this system
        return SPARE
