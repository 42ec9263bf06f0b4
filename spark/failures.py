"""Translation of Spark's failures into errors with advice."""

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import unquote

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from mesh.history.errors import SparkJobError
from mesh.history.files import HERE, path_here

OF_SPARK = (PySparkException, Py4JError, OSError)
OF_JAVA = (PySparkException, Py4JJavaError)  # Java was running when these occurred
SHOWN = 300  # characters
PLAN = "=== Streaming Query ==="  # Spark prints the error first, then its plan


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of failure, recognized by any of `signs` in the text of the error.

    In `what` and `hint`, `{to}` is the place that the job read or wrote. In `what`, `{said}` is the line of
    the text with the sign.
    """

    code: str
    signs: tuple[str, ...]
    what: str
    hint: str


KINDS = (
    Kind(
        "DISK_FULL",
        ("No space left on device", "Disk quota exceeded", "not enough space"),
        "The disk is full, at {to} or where Spark stores data that exceeds its memory.",
        "Free space and start the job again: no data is lost or duplicated. To store Spark's own data "
        "on another disk:  --conf spark.local.dir=DIR",
    ),
    Kind(
        "MEMORY",
        ("OutOfMemoryError", "Java heap space", "GC overhead", "Unable to acquire", "Could not allocate"),
        "Spark ran out of memory.",
        "Allow more:  --conf spark.driver.memory=4g (on a cluster also spark.executor.memory). An ingest "
        "can also read less at a time:  --batch 256",
    ),
    Kind(
        "DENIED",
        ("Permission denied", "AccessControlException", "Read-only file system", "Mkdirs failed"),
        "{to}, or a place that is read, is not accessible: {said}.",
        "Run the job as the user that owns the files, or correct the permissions.",
    ),
    Kind(
        "CHANGED",
        ("FILE_NOT_EXIST", "PATH_NOT_FOUND"),
        "Files of {to} disappeared while they were read, probably because another job merged them.",
        "Start the job again: merged files have the same rows.",
    ),
    Kind(
        "NO_JVM",
        ("Answer from Java side is empty", "Connection refused", "Connection reset", "Broken pipe"),
        "The JVM of Spark ended early: it was killed, or the machine had no memory left.",
        "Start the job again: no data is lost or duplicated. If the machine has little memory, allow Java "
        "less:  --conf spark.driver.memory=1g",
    ),
)
# For streams. Jackson parses the checkpoint, not the lines, and does not name the file.
CHECKPOINT = Kind(
    "CHECKPOINT",
    ("_checkpoint/", "fasterxml.jackson", "StreamReadFeature"),
    "The checkpoint in {to} is damaged: {said}.",
    "Delete {to}/_checkpoint and start the job again: all segments that still exist are read "
    "once more, and no line is duplicated.",
)
# For the start of a session.
SESSION = Kind(
    "SESSION",
    ("Exception", "Error", ""),
    "Spark does not start: {said}.",
    "Check --master and --conf, and that the master runs. For the whole output of Spark, run "
    "the command again with MESH_DEBUG=1.",
)
READING = re.compile(r"\[(FAILED_READ_FILE\S*)\] \D*?file (\S+?:/.+?\.parquet)\.\s")
STAGED = "/_ingest/"  # of a batch, which the next ingest writes again
UNKNOWN = Kind(
    "SPARK",
    ("Exception", "Error", ""),
    "Spark failed: {said}.",
    "Start the job again: no data is lost or duplicated. For the whole output of Spark, run the command "
    "with MESH_DEBUG=1.",
)


def explained(error: BaseException, to: str, *also: Kind) -> SparkJobError:
    """Return a SparkJobError with advice for `error`.

    `to` is the place that the job read or wrote, usually a history. `also` are kinds to recognize besides
    KINDS.
    """
    text = str(error).partition(PLAN)[0]
    kinds = [kind for kind in KINDS if kind.code != "NO_JVM" or not isinstance(error, OF_JAVA)]
    kind = next((kind for kind in kinds if any(sign in text for sign in kind.signs)), None)
    if kind is None and (file := unreadable(text)):
        return _damaged(file, text, to)
    kind = kind or next(kind for kind in (*also, UNKNOWN) if any(sign in text for sign in kind.signs))
    what = kind.what.format(to=to, said=_first(text, kind.signs))
    return SparkJobError(what, kind.hint.format(to=to), kind.code)


def unreadable(text: str) -> str:
    """Return the table file that Spark could not read, or "" if the error `text` names none.

    A file of a batch that is not in the table yet does not count.
    """
    match = READING.search(text)
    if match is None or STAGED in match[2]:
        return ""
    # Only the address of a footer is not quoted.
    whole = match[2] if "FOOTER" in match[1] else unquote(match[2])
    return path_here(whole) if whole.startswith(HERE) else whole


def _damaged(file: str, text: str, to: str) -> SparkJobError:
    causes = [line.partition(": ")[2] for line in text.splitlines() if line.startswith("Caused by: ")]
    why = f" ({causes[-1][:SHOWN]})" if causes else ""
    what = f"{file} cannot be read{why}. It was damaged on disk, or copied only in part."
    place = path_here(to) if to.startswith(HERE) else to
    command = f"python -m mesh.history set-aside {shlex.quote(file)} --to {shlex.quote(place)}"
    hint = f"Set the file aside; the next ingest restores its rows from segments that still exist:  {command}"
    return SparkJobError(what, hint, "DAMAGED_FILE")


@contextmanager
def in_words(to: str, *also: Kind) -> Iterator[None]:
    """Convert a failure of Spark in the `with` block into a SparkJobError."""
    try:
        yield
    except OF_SPARK as error:
        raise explained(error, to, *also) from error


def _first(text: str, signs: tuple[str, ...]) -> str:
    lines = [line.strip(" :\t") for line in text.splitlines() if line.strip()] or ["no reason was given"]
    return next(line for sign in signs for line in lines if sign in line)[:SHOWN].rstrip(".")
