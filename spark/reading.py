"""How is a history read? As one table of all kinds, of which Spark opens only what is asked for."""

from datetime import datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructField, StructType

from spark.errors import SparkJobError
from spark.files import Files, address
from spark.lines import TABLE

HISTORY = StructType(
    [StructField(field.name, IntegerType()) if field.name == "hour" else field for field in TABLE]
)


def history(
    session: SparkSession, place: str, since: datetime | None = None, until: datetime | None = None
) -> DataFrame:
    """All rows with since <= ts < until: COLUMNS, then segment, reason, raw, date and hour (UTC).

    Raises SparkJobError NO_HISTORY when nothing was ever ingested there.
    """
    where = address(place)
    if not Files(session).find(where, "kind=*"):
        raise SparkJobError(
            f"There is no history at {place}.",
            "Gather what the nodes wrote down first: mesh ingest, or mesh report without --no-ingest.",
            "NO_HISTORY",
        )
    rows = session.read.schema(HISTORY).parquet(where)
    if since:
        rows = rows.where((F.col("date") >= F.lit(since.date())) & (F.col("ts") >= F.lit(since)))
    if until:
        rows = rows.where((F.col("date") <= F.lit(until.date())) & (F.col("ts") < F.lit(until)))
    return rows
