"""How does a stream read segments? Each file whole: line by line Spark takes twice as long for small ones."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

LARGE = 32 * 2**20  # bytes; a segment closes at 1 MiB
BINARY = "path string not null, modificationTime timestamp not null, length long not null, content binary"
ANY_AGE = "36500d"  # Spark would pass over files that are a week older than the newest one


def segments(session: SparkSession, source: str, batch: int) -> DataFrame:
    """A stream of `path` and `content`, null of a file that is too large; `batch`: MiB at a time, about."""
    found = (
        session.readStream.format("binaryFile")
        .schema(BINARY)
        .option("recursiveFileLookup", "true")
        .option("pathGlobFilter", "*.jsonl")
        .option("maxFileAge", ANY_AGE)
        .option("ignoreMissingFiles", "true")  # its node needed the room
        .option("maxBytesPerTrigger", f"{batch * 2**20}")
        .load(source)
    )
    path = F.col("_metadata.file_path").alias("path")
    small = found.where(F.col("length") <= LARGE).select(path, F.col("content").cast("string"))
    # What is not asked for is not read.
    large = found.where(F.col("length") > LARGE).select(path, F.lit(None).cast("string"))
    return small.union(large)


def lines(segments: DataFrame) -> DataFrame:
    """One row a line that is not empty: `value` and `path`. A file that is too large is one null."""
    each = F.explode_outer(F.split("content", "\n"))
    found = segments.select("path", each.alias("value"))
    return found.where(F.col("value").isNull() | (F.trim("value") != ""))
