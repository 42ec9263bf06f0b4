"""The resident memory of this process, and the time of a full garbage collection."""

import gc
from time import process_time

import psutil


def resident() -> int:
    """Return the resident bytes of this process after a garbage collection."""
    gc.collect()
    return int(psutil.Process().memory_info().rss)


def paused() -> float:
    """Return the CPU seconds of a full garbage collection, during which a node does nothing else."""
    start = process_time()
    gc.collect()
    return process_time() - start
