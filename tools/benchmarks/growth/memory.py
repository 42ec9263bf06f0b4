"""How much memory does this process hold, and how long does Python look through all of it?"""

import gc
from time import process_time

import psutil


def resident() -> int:
    """Bytes, of what is still in use: in a process that has only grown so far."""
    gc.collect()
    return int(psutil.Process().memory_info().rss)


def paused() -> float:
    """Seconds of a full collection, in which nothing else happens: in a node that has grown, now and then."""
    start = process_time()
    gc.collect()
    return process_time() - start
