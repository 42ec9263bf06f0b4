"""What are the lines of the segments in the table? Rows, each of its kind, in its hour, under its key.

Which row survives must not depend on how batches fell. So of a state, which several write down, only that is
kept which its owner said, and it counts for the hour in which the owner said it. All equal rows have the same
key and fall into the same hour: a batch need only be compared with the hours that it touches.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, StringType, StructField, StructType

from spark.checks import is_good, moment, parse, reason
from spark.schema import COLUMNS

STATE, QUARANTINE = "state", "quarantine"
PARTITION = ["kind", "date", "hour"]
KEY = ["key_who", "key_boot", "key_number"]
OF_INGEST = ["segment", "reason", "raw"]
STORED = [name for name in COLUMNS if name != "kind"] + OF_INGEST
# As it is written. Two digits of an hour: hour=03.
TABLE = StructType(
    [StructField(name, COLUMNS.get(name, StringType())) for name in STORED]
    + [StructField("kind", StringType()), StructField("date", DateType()), StructField("hour", StringType())]
)
OF_THE_OBSERVER = ("observer", "observer_uuid", "observer_boot", "line", "age", "segment")  # not of a state
KEPT = 4096  # characters of a bad line
CHUNK = 8  # bits: so many numbers one after the other, 256, stay together
UNDATED = "1970-01-01", "00"


def rows(lines: DataFrame) -> DataFrame:
    """Of `value`, a line, and `path`, its segment: PARTITION and STORED. A bad line stands whole in `raw`."""
    parsed = lines.select("value", "path", parse(F.col("value")).alias("line")).select(
        "value", "path", "line.*"
    )
    timed = parsed.withColumns({name: moment(F.col(name)) for name in ("ts", "wall")})
    judged = timed.withColumn("good", is_good(F.col("value")))
    good, is_state = F.col("good"), F.col("good") & (F.col("kind") == STATE)
    own = {name: F.when(~is_state, F.col(name)) for name in OF_THE_OBSERVER}
    ts = F.when(is_state, F.col("wall")).otherwise(F.col("ts"))
    made = {
        **own,
        "kind": F.when(good, F.col("kind")).otherwise(QUARANTINE),
        "date": F.when(good, F.to_date(ts)).otherwise(_date(F.col("path"))),
        "hour": F.when(good, F.lpad(F.hour(ts).cast("string"), 2, "0")).otherwise(_hour(F.col("path"))),
        "ts": ts,
        "segment": F.when(~is_state, F.substring_index("path", "/", -1)),
        "reason": F.lit(None).cast("string"),
        "raw": F.when(~good, F.col("value")),
    }
    return judged.withColumns(made).select(*PARTITION, *STORED)


def unique(rows: DataFrame, parts: int) -> DataFrame:
    """Each key once, in order, the rows of an hour in at most so many parts. One shuffle, one sort.

    Rows of one key are as good as equal; of those that are not, the name of the segment decides.
    """
    chunk = F.hash("key_who", "key_boot", F.shiftright("key_number", CHUNK))
    keyed = rows.withColumns(keys()).withColumn("part", F.pmod(chunk, F.lit(parts)))
    order = Window.partitionBy(*PARTITION, "part", *KEY).orderBy("segment")
    numbered = keyed.repartition(*PARTITION, "part").withColumn("nth", F.row_number().over(order))
    return numbered.where("nth = 1").drop("nth", "part", *KEY)


def unknown(rows: DataFrame, known: DataFrame) -> DataFrame:
    """Rows whose key is not in `known`, in order; both have PARTITION and STORED, and no key twice."""
    seen = known.withColumns(keys()).select(*PARTITION, *KEY)
    new = rows.withColumns(keys()).join(seen, [*PARTITION, *KEY], "left_anti")
    return new.repartition(*PARTITION).sortWithinPartitions(*PARTITION, *KEY).drop(*KEY)


def keys() -> dict[str, Column]:
    """KEY, by name, of rows that have PARTITION and STORED."""
    is_state, is_bad = F.col("kind") == STATE, F.col("kind") == QUARANTINE
    bad = F.concat_ws("\n", "segment", "raw")
    return {
        "key_who": F.when(is_state, F.col("uuid")).when(is_bad, bad).otherwise(F.col("observer_uuid")),
        "key_boot": _number(is_state, is_bad, "boot", "observer_boot"),
        "key_number": _number(is_state, is_bad, "version", "line"),
    }


def explained(quarantined: DataFrame) -> DataFrame:
    """Bad lines, as `rows` gives them, with the reason; cut short, and each text once in its segment."""
    value = F.col("value")
    lines = quarantined.select(*PARTITION, F.col("segment").alias("found_in"), F.col("raw").alias("value"))
    parsed = lines.select("*", parse(value).alias("parsed")).drop("kind").select("*", "parsed.*")
    timed = parsed.withColumns({name: moment(F.col(name)) for name in ("ts", "wall")})
    said = {
        "segment": F.col("found_in"),
        "reason": reason(value),
        "raw": F.make_valid_utf8(F.left(value, F.lit(KEPT))),
    }
    nothing = {name: F.lit(None).cast(type_) for name, type_ in COLUMNS.items() if name != "kind"}
    whole = timed.select(
        "date",
        "hour",
        F.lit(QUARANTINE).alias("kind"),
        *(column.alias(name) for name, column in (nothing | said).items()),
    )
    return whole.dropDuplicates([*PARTITION, "segment", "raw"])


def _number(is_state: Column, is_bad: Column, of_state: str, of_others: str) -> Column:
    number = F.when(is_state, F.col(of_state)).when(is_bad, F.lit(0)).otherwise(F.col(of_others))
    return F.coalesce(number, F.lit(0))


def _date(path: Column) -> Column:
    """That of the segment's directory."""
    text = F.regexp_extract(path, r"/date=(\d{4}-\d\d-\d\d)/hour=\d\d/[^/]*$", 1)
    return F.coalesce(text.cast("date"), F.lit(UNDATED[0]).cast("date"))


def _hour(path: Column) -> Column:
    text = F.regexp_extract(path, r"/hour=([01]\d|2[0-3])/[^/]*$", 1)
    return F.when(text != "", text).otherwise(UNDATED[1])
