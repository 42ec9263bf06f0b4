"""Sets a damaged file of a history aside, so that everything else can be read and written again.

Law 1: only a file that Spark cannot read is moved: a file of the table, or a merged file on its way there.
Law 2: the next ingest rereads all segments that still exist, and so restores their rows.
"""

import re
from collections.abc import Callable

from pyspark.sql import SparkSession

from mesh.history import checkpoint
from mesh.history.errors import SparkJobError
from mesh.history.failures import OF_SPARK, explained
from mesh.history.files import Files, address

ASIDE = "_damaged"  # Spark ignores names that begin with _
SUFFIX = ".damaged"  # readers of *.parquet ignore it, too
PART = re.compile(r"(?:_compact/[0-9a-f]+/)?(kind=[^/]+/date=[^/]+/hour=[^/]+/[^/]+\.parquet)")


def part_of(place: str, file: str) -> str:
    """Return the path of `file` below the history at `place`, an address.

    Raises: SparkJobError NO_SUCH_FILE.
    """
    inner = address(file).removeprefix(f"{place}/")
    if PART.fullmatch(inner):
        return inner
    raise SparkJobError(
        f"{file} does not belong to the table in {place}, whose files are kind=…/date=…/hour=…/NAME.parquet.",
        "Use the name of the file as in the error, and the same --to.",
        "NO_SUCH_FILE",
    )


def set_aside(session: SparkSession, files: Files, place: str, part: str, check: Callable[[], None]) -> str:
    """Move the damaged file `part` of the history at `place` to ASIDE, and return its new address.

    The checkpoint is deleted, so that all segments are read again. `check` raises SparkJobError if this job
    has lost the lock of the history. Raises: SparkJobError NO_SUCH_FILE, NOT_DAMAGED.
    """
    file = f"{place}/{part}"
    if not files.exists(file):
        hint = f"The file may already be set aside, in {place}/{ASIDE}. Repeat the command that failed."
        raise SparkJobError(f"{file} does not exist.", hint, "NO_SUCH_FILE")
    if not _is_damaged(session, file):
        raise SparkJobError(
            f"{file} can be read: nothing was changed.", "Repeat the command that failed.", "NOT_DAMAGED"
        )
    check()
    target = f"{place}/{ASIDE}/{part}{SUFFIX}"
    files.remove(f"{place}/{checkpoint.FOLDER}")
    files.move(file, target)
    return target


def _is_damaged(session: SparkSession, file: str) -> bool:
    """Return whether a value in the file cannot be read. Raises: SparkJobError, for other failures."""
    try:
        session.read.parquet(file).write.format("noop").mode("overwrite").save()
    except OF_SPARK as error:
        told = explained(error, file)
        if told.code != "DAMAGED_FILE":
            raise told from error
        return True
    return False
