"""What are the lines of the segments in the table? Rows, each of its kind, in its hour, under its key.

Which row survives must not depend on how batches fell. So of a state, which several write down, only that is
kept which its owner said, and it counts for the hour in which the owner said it. All equal rows have the same
key and fall into the same hour: a batch need only be compared with the hours that it touches.
"""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, StringType, StructField, StructType

from spark.checks import TIMES, field, is_good, parsed, reason
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
DAY, HOUR = 86_400, 3600  # s
CHUNK = 8  # bits: so many numbers one after the other, 256, stay together
UNDATED = "1970-01-01", "00"


def rows(lines: DataFrame) -> DataFrame:
    """Of `value`, a line, and `path`, its segment: PARTITION, KEY, `ts`, `segment`, `raw` (the line, if it is
    a bad one) and `read`, its columns: one by one they would be copied at each step, which takes long."""
    judged = parsed(lines).withColumn("good", is_good(F.col("value")))
    good, is_state = F.col("good"), F.col("good") & (field("kind") == STATE)
    ts = F.when(is_state, F.col("wall")).otherwise(F.col("ts"))
    segment, raw = F.substring_index("path", "/", -1), F.when(~good, F.col("value"))
    made = {
        "kind": F.when(good, field("kind")).otherwise(QUARANTINE),
        "date": F.when(good, utc_date(ts)).otherwise(_date(F.col("path"))),
        "hour": F.when(good, utc_hour(ts)).otherwise(_hour(F.col("path"))),
        **_keys(is_state, ~good, field, F.concat_ws("\n", segment, raw)),
        "ts": ts,
        "segment": segment,
        "raw": raw,
        "read": F.col("read"),
    }
    return judged.select(*(column.alias(name) for name, column in made.items()))


def utc_date(ts: Column) -> Column:
    """Return the date of `ts` in UTC. Spark's own functions take the time zone of the session."""
    return F.date_from_unix_date(F.floor(F.unix_seconds(ts) / DAY).cast("int"))


def utc_hour(ts: Column) -> Column:
    """Return the hour of `ts` in UTC, with two digits."""
    hour = F.pmod(F.floor(F.unix_seconds(ts) / HOUR), F.lit(DAY // HOUR))
    return F.lpad(hour.cast("string"), 2, "0")


def unique(rows: DataFrame, parts: int) -> DataFrame:
    """Each key once, in order, the rows of an hour in at most so many parts. One shuffle, one sort.

    Rows of one key are as good as equal; of those that are not, the name of the segment decides.
    """
    who = F.hash("key_who", "key_boot")
    chunk = F.hash(who, F.shiftright("key_number", CHUNK))
    ranked = rows.withColumns({"part": F.pmod(chunk, F.lit(parts)), "rank": _rank(who)})
    order = Window.partitionBy("rank", *PARTITION, "part", *KEY).orderBy("segment")
    numbered = ranked.repartition(*PARTITION, "part").withColumn("nth", F.row_number().over(order))
    return numbered.where("nth = 1").select(rows.columns)


def stored(rows: DataFrame) -> DataFrame:
    """Rows as the table has them: PARTITION and STORED. A bad line stands whole in `raw`."""
    others = F.col("kind") != STATE
    made = {name: field(name) for name in COLUMNS if name not in (*PARTITION, *TIMES)}
    made |= {name: F.when(others, column) for name, column in made.items() if name in OF_THE_OBSERVER}
    made |= {
        "ts": F.col("ts"),
        "wall": F.when(~others, F.col("ts")),
        "segment": F.when(others, F.col("segment")),
        "reason": F.lit(None).cast("string"),
        "raw": F.col("raw"),
    }
    return rows.select(*PARTITION, *(made[name].alias(name) for name in STORED))


def _rank(who: Column) -> Column:
    """One number by which rows of one hour and key come together, in order: it is sorted much faster than
    all that it is made of."""
    hour, owner, number = F.hash(*PARTITION).cast("long"), who.cast("long"), F.col("key_number")
    high = F.shiftleft(hour.bitwiseAND(0xFFFF), 48).bitwiseOR(F.shiftleft(owner.bitwiseAND(0xFFFF), 32))
    return high.bitwiseOR(number.bitwiseAND(0xFFFF_FFFF))


def unknown(rows: DataFrame, known: DataFrame) -> DataFrame:
    """Rows whose key is not in `known`, in order; both have PARTITION and STORED, and no key twice."""
    # As small as it looks in Parquet, it may not fit into memory: "merge" takes both in order, from disk.
    seen = known.withColumns(keys()).select(*PARTITION, *KEY).hint("merge")
    new = rows.withColumns(keys()).join(seen, [*PARTITION, *KEY], "left_anti")
    return new.repartition(*PARTITION).sortWithinPartitions(*PARTITION, *KEY).drop(*KEY)


def keys() -> dict[str, Column]:
    """KEY, by name, of rows that have PARTITION and STORED."""
    kind = F.col("kind")
    return _keys(kind == STATE, kind == QUARANTINE, F.col, F.concat_ws("\n", "segment", "raw"))


def _keys(is_state: Column, is_bad: Column, of: Callable[[str], Column], bad: Column) -> dict[str, Column]:
    def number(of_state: str, of_others: str) -> Column:
        found = F.when(is_state, of(of_state)).when(is_bad, F.lit(0)).otherwise(of(of_others))
        return F.coalesce(found, F.lit(0))

    return {
        "key_who": F.when(is_state, of("uuid")).when(is_bad, bad).otherwise(of("observer_uuid")),
        "key_boot": number("boot", "observer_boot"),
        "key_number": number("version", "line"),
    }


def explained(quarantined: DataFrame) -> DataFrame:
    """Bad lines, as `rows` gives them, with the reason; cut short, and each text once in its segment."""
    value = F.col("value")
    found_in = F.col("segment").alias("found_in")
    lines = quarantined.select("date", "hour", found_in, F.col("raw").alias("value"))
    said = {
        "segment": F.col("found_in"),
        "reason": reason(value),
        "raw": F.make_valid_utf8(F.left(value, F.lit(KEPT))),
    }
    nothing = {name: F.lit(None).cast(type_) for name, type_ in COLUMNS.items() if name != "kind"}
    whole = parsed(lines).select(
        "date",
        "hour",
        F.lit(QUARANTINE).alias("kind"),
        *(column.alias(name) for name, column in (nothing | said).items()),
    )
    return whole.dropDuplicates([*PARTITION, "segment", "raw"])


def _date(path: Column) -> Column:
    """That of the segment's directory."""
    text = F.regexp_extract(path, r"/date=(\d{4}-\d\d-\d\d)/hour=\d\d/[^/]*$", 1)
    return F.coalesce(text.try_cast("date"), F.lit(UNDATED[0]).cast("date"))


def _hour(path: Column) -> Column:
    text = F.regexp_extract(path, r"/hour=([01]\d|2[0-3])/[^/]*$", 1)
    return F.when(text != "", text).otherwise(UNDATED[1])
