"""What does a stream remember? Every file that it ever saw, for ever, if nobody looks after it.

Nodes delete segments that are in the history, so that after some months nearly all of it is about files that
are gone, and takes the driver's memory. A stream that has forgotten all reads what is still there once more;
the history knows those lines, and they change nothing.
"""

import hashlib
import re

from spark.files import Files

FOLDER = "_checkpoint"
MANY = 100_000  # files that a stream may remember, whatever became of them
LOG = re.compile(r"sources/\d+/(\d+)(\.compact)?")


def place(to: str, source: str) -> str:
    """Each stream has a checkpoint of its own: so sources may come and go."""
    return f"{to}/{FOLDER}/{hashlib.sha256(source.encode()).hexdigest()[:16]}"


def forget_what_is_gone(files: Files, checkpoint: str, source: str, many: int = MANY) -> bool:
    """Begin anew, if more than half of what is remembered is gone. Before the stream starts."""
    remembered = _remembered(files, checkpoint)
    if remembered <= many or remembered <= 2 * files.count(source):
        return False
    files.remove(checkpoint)
    return True


def _remembered(files: Files, checkpoint: str) -> int:
    """Spark gathers the log in one file now and then; what came since stands in others."""
    found = [match for name in files.find(checkpoint, "sources/*/*") if (match := LOG.fullmatch(name))]
    gathered = max((int(match[1]) for match in found if match[2]), default=-1)
    counted = [
        match[0] for match in found if int(match[1]) > gathered or (match[2] and int(match[1]) == gathered)
    ]
    return sum((files.read(f"{checkpoint}/{name}") or "").count('"path"') for name in counted)
