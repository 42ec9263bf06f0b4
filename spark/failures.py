"""What does it mean when Spark gives up? In words that say what to do."""

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import unquote

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from spark.errors import SparkJobError
from spark.files import HERE, path_here

OF_SPARK = (PySparkException, Py4JError, OSError)
OF_JAVA = (PySparkException, Py4JJavaError)  # which runs, then: what was refused or reset was another's
SHOWN = 300  # characters
PLAN = "=== Streaming Query ==="  # Spark tells what went wrong first, and then all that it was about to do


@dataclass(frozen=True, slots=True)
class Kind:
    """The words of Java when this is the matter, and ours: of `{to}`, the history, in words `{said}`."""

    code: str
    signs: tuple[str, ...]
    what: str
    hint: str


KINDS = (
    Kind(
        "DISK_FULL",
        ("No space left on device", "Disk quota exceeded", "not enough space"),
        "The disk is full, at {to} or where Spark keeps what does not fit into memory.",
        "Make room and start it again: it goes on where it was, and nothing is lost or counts twice.",
    ),
    Kind(
        "MEMORY",
        ("OutOfMemoryError", "Java heap space", "GC overhead", "Unable to acquire", "Could not allocate"),
        "The memory that Spark may use is not enough.",
        "Give it more, --conf spark.driver.memory=4g, or let it read less at a time, --batch 256.",
    ),
    Kind(
        "DENIED",
        ("Permission denied", "AccessControlException", "Read-only file system", "Mkdirs failed"),
        "{to}, or a place that is read, may not be used: {said}",
        "Mend the permissions, or name another place with --to.",
    ),
    Kind(
        "CHANGED",
        ("FILE_NOT_EXIST", "PATH_NOT_FOUND"),
        "Files of {to} were replaced by others while they were read.",
        "Nothing is lost; the same again.",
    ),
    Kind(
        "NO_JVM",
        ("Answer from Java side is empty", "Connection refused", "Connection reset", "Broken pipe"),
        "Java has ended in the middle of the work: somebody killed it, or the machine had no memory left.",
        "Start it again; it goes on where it was.",
    ),
)
# Of a stream. Jackson reads the JSON of the checkpoint, not that of lines, and does not tell in which file.
CHECKPOINT = Kind(
    "CHECKPOINT",
    ("_checkpoint/", "fasterxml.jackson", "StreamReadFeature"),
    "The checkpoint in {to} is damaged: {said}",
    "Delete {to}/_checkpoint and start it again: all segments that are still there are read once more, "
    "and none of their lines counts twice.",
)
# Of a session that starts.
SESSION = Kind(
    "SESSION",
    ("Exception", "Error", ""),
    "Spark does not start: {said}",
    "Are --master and --conf right, and does the master run? "
    "All that Spark said: MESH_DEBUG=1, and the same again.",
)
READING = re.compile(r"\[(FAILED_READ_FILE\S*)\] \D*?file (\S+?:/.+?\.parquet)\.\s")
STAGED = "/_ingest/"  # of a batch: the next ingest makes it anew
UNKNOWN = Kind(
    "SPARK",
    ("Exception", "Error", ""),
    "Spark gave up: {said}",
    "Start it again; it goes on where it was. All that Spark said: MESH_DEBUG=1, and the same again.",
)


def explained(error: BaseException, to: str, *also: Kind) -> SparkJobError:
    """The error of a job that reads or writes `to`; it may be one of these kinds, also."""
    text = str(error).partition(PLAN)[0]
    kinds = [kind for kind in KINDS if kind.code != "NO_JVM" or not isinstance(error, OF_JAVA)]
    kind = next((kind for kind in kinds if any(sign in text for sign in kind.signs)), None)
    if kind is None and (file := unreadable(text)):
        return _damaged(file, text, to)
    kind = kind or next(kind for kind in (*also, UNKNOWN) if any(sign in text for sign in kind.signs))
    what = kind.what.format(to=to, said=_first(text, kind.signs))
    return SparkJobError(what, kind.hint.format(to=to), kind.code)


def unreadable(text: str) -> str:
    """Return the place of the file of a table that Spark could not read, or an empty text."""
    match = READING.search(text)
    if match is None or STAGED in match[2]:
        return ""
    # Only the address of a footer is written as it is.
    whole = match[2] if "FOOTER" in match[1] else unquote(match[2])
    return path_here(whole) if whole.startswith(HERE) else whole


def _damaged(file: str, text: str, to: str) -> SparkJobError:
    causes = [line.partition(": ")[2] for line in text.splitlines() if line.startswith("Caused by: ")]
    why = f" ({causes[-1][:SHOWN]})" if causes else ""
    what = f"{file} cannot be read{why}. The disk has damaged it, or somebody copied only a part of it."
    place = path_here(to) if to.startswith(HERE) else to
    command = f"python -m spark set-aside {shlex.quote(file)} --to {shlex.quote(place)}"
    hint = f"Set it aside; the next ingest reads its rows again from segments that still exist:  {command}"
    return SparkJobError(what, hint, "DAMAGED_FILE")


@contextmanager
def in_words(to: str, *also: Kind) -> Iterator[None]:
    """A context in which what goes wrong in Spark goes on as a SparkJobError."""
    try:
        yield
    except OF_SPARK as error:
        raise explained(error, to, *also) from error


def _first(text: str, signs: tuple[str, ...]) -> str:
    """The first line that has the first sign, or else the next one."""
    lines = [line.strip(" :\t") for line in text.splitlines() if line.strip()] or ["it did not say why"]
    return next(line for sign in signs for line in lines if sign in line)[:SHOWN]
