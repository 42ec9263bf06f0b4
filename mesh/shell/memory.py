"""Give back to the system what starting took, and take of it what serving needs."""

import contextlib
import ctypes
import gc
import resource


def give_back() -> None:
    """Three of 45 MB; where the C library knows no such thing, nothing happens."""
    gc.collect()
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def take_descriptors() -> None:
    """As many as this user may have: with the usual 1,024 a thousand connections are the end of ZeroMQ."""
    with contextlib.suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
