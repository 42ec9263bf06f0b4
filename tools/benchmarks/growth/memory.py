"""The resident memory of this process, and the time of a full garbage collection."""

import gc
from time import process_time

import psutil


def resident() -> int:
    """Return the resident bytes of this process.

    In a process that has only grown, all of them are in use.
    """
    gc.collect()
    return int(psutil.Process().memory_info().rss)


def paused() -> float:
    """Return the seconds of a full garbage collection, which delays a large node now and then."""
    start = process_time()
    gc.collect()
    return process_time() - start
