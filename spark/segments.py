"""Reads segments as whole files, because reading small files by line takes Spark twice as long.

The uncompressed size of a compressed segment is unknown, so compressed segments are read by line.
"""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.readwriter import DataFrameReader
from pyspark.sql.streaming.readwriter import DataStreamReader

from mesh.history.unfinished import PATIENCE

PLAIN, COMPRESSED = "*.jsonl", "*.jsonl.gz"
LARGE = 32 * 2**20  # bytes; a segment closes at 1 MiB
BINARY = "path string not null, modificationTime timestamp not null, length long not null, content binary"
# Otherwise Spark would skip files a week older than the newest one.
ANY_AGE = "36500d"
LONGEST = "mapreduce.input.linerecordreader.line.maxlength"  # Hadoop's option to skip longer lines
PATTERN = str.maketrans({letter: f"\\{letter}" for letter in "*?[]{}\\"})

Reader = DataFrameReader | DataStreamReader

# Rule: the incomplete end of a file that may still grow is not a line yet.
FILE = ["path", "bytes", "changed", "torn"]  # as in mesh.history.unfinished.Read


def stream(session: SparkSession, source: str, batch: int, kind: str = PLAIN) -> DataFrame:
    """Return a stream of the new files in `source`, with the columns FILE, and `content` or `value`.

    For the kind PLAIN, a row is a file, with its text in `content`. For COMPRESSED, a row is a line, with its
    text in `value`. `batch` is the approximate size of a batch in MiB.
    """
    reader = session.readStream.option("recursiveFileLookup", "true").option("pathGlobFilter", kind)
    reader = reader.option("maxFileAge", ANY_AGE).option("maxBytesPerTrigger", f"{batch * 2**20}")
    return _plain(reader, source) if kind == PLAIN else _compressed(reader, source)


def reread(session: SparkSession, paths: Sequence[str], kind: str = PLAIN) -> DataFrame:
    """Return the rows of the files `paths`, with the columns of `stream`."""
    places = [path.translate(PATTERN) for path in paths]
    return _plain(session.read, places) if kind == PLAIN else _compressed(session.read, places)


def lines(segments: DataFrame) -> DataFrame:
    """Return a row for each non-empty line: `value` and `path`.

    A file that is too large is one row with a null `value`.
    """
    if "content" in segments.columns:
        found = segments.select("path", F.explode_outer(F.split("content", "\n")).alias("value"))
    else:  # the same segment, compressed or not
        found = segments.select(F.left("path", F.length("path") - F.lit(len(".gz"))).alias("path"), "value")
    return found.where(F.col("value").isNull() | (F.trim("value") != ""))


def _plain(reader: Reader, places: Any) -> DataFrame:
    """Return FILE and `content`, which is null for a file that is too large."""
    reader = reader.format("binaryFile").schema(BINARY).option("ignoreMissingFiles", "true")
    found = reader.load(places)  # a node may delete a file meanwhile
    size = F.col("length")
    columns = [_path(), size.alias("bytes"), _seconds("modificationTime")]
    small = found.where(size <= LARGE).select(*columns, F.col("content").cast("string").alias("content"))
    # Spark does not read columns that are not selected.
    large = found.where(size > LARGE).select(*columns, F.lit(None).cast("string"))
    content, end = F.col("content"), F.col("end")
    whole = F.when(end.isNull(), content).otherwise(F.left(content, F.length(content) - F.length(end)))
    return (
        small.union(large)
        .withColumn("end", _torn_end(content, F.col("changed")))
        .select("path", "bytes", "changed", end.isNotNull().alias("torn"), whole.alias("content"))
    )


def _torn_end(content: Column, changed: Column) -> Column:
    """Return the text after the last whole line of a file that may still grow, or null."""
    end = F.substring_index(content, "\n", -1)
    is_line = F.get_json_object(end, "$").isNotNull()
    is_recent = changed > F.unix_timestamp() - PATIENCE
    return F.when((content != "") & ~content.endswith("\n") & is_recent & ~is_line, end)


def _compressed(reader: Reader, places: Any) -> DataFrame:
    """Return FILE and `value` of each line.

    A damaged file is read as far as possible.
    """
    reader = reader.format("text").option("ignoreMissingFiles", "true").option("ignoreCorruptFiles", "true")
    found = reader.option(LONGEST, str(LARGE)).load(places)
    return found.select(
        _path(),
        F.col("_metadata.file_size").alias("bytes"),
        _seconds("_metadata.file_modification_time"),
        F.lit(False).alias("torn"),
        "value",
    )


def _path() -> Column:
    return F.regexp_replace("_metadata.file_path", "^file:/+", "file:///").alias("path")


def _seconds(time: str) -> Column:
    return F.col(time).cast("double").alias("changed")
