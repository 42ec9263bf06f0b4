"""Give back to the system what starting took, take what serving needs, and end when there is no more."""

import asyncio
import contextlib
import ctypes
import gc
import os
import resource
import threading
from collections.abc import Iterator
from typing import Any

NO_MEMORY = (
    b"mesh: this process gets no more memory, and ends. What was answered is on disk. [NO_MEMORY]\n"
    b"      Give it more (see `ulimit -v`, the limit of its container), or lower [limits] in its mesh.toml.\n"
)
FAILED = 2  # exit code


def give_back() -> None:
    """Three of 45 MB; where the C library knows no such thing, nothing happens."""
    gc.collect()
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


class _Frozen:
    """Whether the program around a process's nodes has ever frozen anything: where that is much, to count it
    takes as long as a start."""

    def __init__(self) -> None:
        self._was_any = False

    def is_any(self) -> bool:
        self._was_any = self._was_any or bool(gc.get_freeze_count())
        return self._was_any


_FROZEN = _Frozen()


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Look for no garbage meanwhile: what a node takes up when it begins is none, and to look through all of
    it again and again takes as long as the rest."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not _FROZEN.is_any():  # else it is the program around this node that has frozen something
            gc.freeze()  # no step over it at all: what is unfrozen is old,
            gc.unfreeze()  # and not looked through as if it were new
        if was_enabled:
            gc.enable()


def take_descriptors() -> None:
    """As many as this user may have: with the usual 1,024 a thousand connections are the end of ZeroMQ."""
    with contextlib.suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def end_without(loop: asyncio.AbstractEventLoop) -> None:
    """From now on the process ends at once when memory is refused to it.

    What failed in the middle may have left half a change behind: as after an error of the disk, what such
    a node still says cannot be trusted, and it starts again from what it holds on disk.
    """
    outer = threading.excepthook

    def in_loop(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if isinstance(context.get("exception"), MemoryError):
            _end()
        loop.default_exception_handler(context)

    def in_thread(args: threading.ExceptHookArgs) -> None:
        if issubclass(args.exc_type, MemoryError):
            _end()
        outer(args)

    loop.set_exception_handler(in_loop)
    threading.excepthook = in_thread


def _end() -> None:
    os.write(2, NO_MEMORY)
    os._exit(FAILED)
