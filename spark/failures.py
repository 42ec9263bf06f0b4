"""What does it mean when Spark gives up? In words that say what to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from spark.errors import SparkJobError

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
    kind = next(kind for kind in (*kinds, *also, UNKNOWN) if any(sign in text for sign in kind.signs))
    what = kind.what.format(to=to, said=_first(text, kind.signs))
    return SparkJobError(what, kind.hint.format(to=to), kind.code)


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
