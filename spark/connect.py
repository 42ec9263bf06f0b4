"""Reads the files of a history over Spark Connect, where Java runs only on the server.

Law 1: the server lists the files of a DataFrame at each action, not only once as a session with a JVM does.
"""

from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import unquote

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from mesh.history.files import Reads
from mesh.history.lines import PARTITION, TABLE

DEPTH = len(PARTITION) + 1  # kind=…/date=…/hour=…/NAME.parquet
MISSING = "PATH_NOT_FOUND"


class ServerFiles(Reads):
    """Files on the server, read by DataFrames.

    Names that begin with `_` cannot be read this way.
    """

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def find(self, folder: str, pattern: str) -> list[str]:
        """Return the paths that match `pattern`, sorted: table files below `folder`, or their directories."""
        try:
            paths = self._session.read.schema(TABLE).parquet(folder).inputFiles()
        except AnalysisException as error:
            _must_be_missing(error)
            return []
        depth = pattern.count("/") + 1
        inner = {"/".join(unquote(path).split("/")[-DEPTH:][:depth]) for path in paths}
        return sorted(path for path in inner if fnmatchcase(path, pattern))

    def read(self, place: str) -> str | None:
        """Return the text of a file, or None if it does not exist or its name begins with `_`."""
        if place.rpartition("/")[2].startswith("_"):
            return None
        try:
            rows: list[Any] = self._session.read.text(place, wholetext=True).collect()
        except AnalysisException as error:
            _must_be_missing(error)
            return None
        return str(rows[0][0]) if rows else None


def _must_be_missing(error: AnalysisException) -> None:
    if error.getCondition() != MISSING:
        raise error
