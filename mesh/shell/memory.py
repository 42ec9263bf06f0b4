"""Memory and descriptors of a node's process: trimming after the start, and exit when memory runs out."""

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
    b"mesh: this process is out of memory, and ends. Acknowledged messages are on disk. [NO_MEMORY]\n"
    b"      Give it more (see `ulimit -v`, the limit of its container), or lower [limits] in its mesh.toml.\n"
)
FAILED = 2  # exit code


def give_back() -> None:
    """Collect garbage, and return freed memory to the system if it has `malloc_trim`: about 3 of 45 MB."""
    gc.collect()
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


class _Frozen:
    """Record of whether the surrounding program has ever frozen objects.

    The answer is remembered, because counting many frozen objects is slow.
    """

    def __init__(self) -> None:
        self._was_any = False

    def is_any(self) -> bool:
        self._was_any = self._was_any or bool(gc.get_freeze_count())
        return self._was_any


_FROZEN = _Frozen()


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Suspend garbage collection while a node loads its stores.

    None of the loaded objects is garbage, and repeated scans would double the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not _FROZEN.is_any():  # else the surrounding program froze objects
            gc.freeze()  # moves all objects to the oldest generation
            gc.unfreeze()  # young collections skip that generation
        if was_enabled:
            gc.enable()


def take_descriptors() -> None:
    """Raise the limit of open files to the hard limit: the usual 1,024 are too few for ZeroMQ."""
    with contextlib.suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def end_without(loop: asyncio.AbstractEventLoop) -> None:
    """Make the process end immediately when memory allocation fails in the loop or in a thread.

    An operation may have been left half done. As after a disk error, the node cannot be trusted, and must
    start again from its stores.
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
