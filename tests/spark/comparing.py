"""The rows of a history, so that two histories can be compared."""

from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from mesh.history.reading import history


def rows(session: SparkSession, to: Path) -> list[str]:
    """Return all rows as JSON, sorted."""
    return sorted(row[0] for row in history(session, str(to)).select(F.to_json(F.struct("*"))).collect())
