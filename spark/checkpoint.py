"""Cleanup of stream checkpoints, which would otherwise list all files ever read.

Nodes delete segments that are in the history. After some months nearly all of a checkpoint would concern
deleted files, and fill the driver's memory. A stream with an empty checkpoint rereads the existing segments.
Their lines are already in the history, so they change nothing.
"""

import hashlib
import re

from mesh.history.files import Files

FOLDER = "_checkpoint"
MANY = 100_000  # files in a checkpoint that may stay there
LOG = re.compile(r"sources/\d+/(\d+)(\.compact)?")


def place(to: str, source: str) -> str:
    """Return the directory of the checkpoint of `source`.

    Each source has its own, so that sources can be added and removed.
    """
    return f"{to}/{FOLDER}/{hashlib.sha256(source.encode()).hexdigest()[:16]}"


def forget_what_is_gone(files: Files, checkpoint: str, source: str, many: int = MANY) -> bool:
    """Delete a checkpoint if most of its files no longer exist, and return whether it was deleted.

    Checkpoints of at most `many` files are kept. Call before the stream starts.
    """
    remembered = _remembered(files, checkpoint)
    if remembered <= many or remembered <= 2 * files.count(source):
        return False
    files.remove(checkpoint)
    return True


def _remembered(files: Files, checkpoint: str) -> int:
    """Return the number of files in a checkpoint's log.

    Spark merges the log into one file from time to time. Newer entries are in other files.
    """
    found = [match for name in files.find(checkpoint, "sources/*/*") if (match := LOG.fullmatch(name))]
    gathered = max((int(match[1]) for match in found if match[2]), default=-1)
    counted = [
        match[0] for match in found if int(match[1]) > gathered or (match[2] and int(match[1]) == gathered)
    ]
    return sum((files.read(f"{checkpoint}/{name}") or "").count('"path"') for name in counted)
