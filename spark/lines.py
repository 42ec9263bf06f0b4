"""Conversion of segment lines into rows of the table, with their partition and key.

The row that survives among duplicates must not depend on the division into batches. Several nodes record the
same state, so only the owner's part of it is kept, at the hour of the owner's clock. Equal rows thus have the
same key and hour, and a batch need only be compared with the hours that it touches.
"""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, StringType, StructField, StructType

from mesh.history.checks import TIMES, field, is_good, parsed, reason
from mesh.history.schema import COLUMNS

STATE, QUARANTINE = "state", "quarantine"
PARTITION = ["kind", "date", "hour"]
KEY = ["key_who", "key_boot", "key_number"]
OF_INGEST = ["segment", "reason", "raw"]
STORED = [name for name in COLUMNS if name != "kind"] + OF_INGEST
# As written. Hours have two digits: hour=03.
TABLE = StructType(
    [StructField(name, COLUMNS.get(name, StringType())) for name in STORED]
    + [StructField("kind", StringType()), StructField("date", DateType()), StructField("hour", StringType())]
)
OF_THE_OBSERVER = ("observer", "observer_uuid", "observer_boot", "line", "age", "segment")  # not in a state
KEPT = 4096  # characters of a bad line
DAY, HOUR = 86_400, 3600  # s
# Bits of a chunk: 256 consecutive numbers stay together.
CHUNK = 8
UNDATED = "1970-01-01", "00"


def rows(lines: DataFrame) -> DataFrame:
    """Return rows with PARTITION, KEY, `ts`, `segment`, `raw` and `read` from `value` (a line) and `path`.

    `raw` is the line if it is bad, else null. `read` is a struct of the fields as parsed, because copying
    separate columns at each step would be slow.
    """
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
    """Return the date of `ts` in UTC.

    Spark's own functions use the time zone of the session.
    """
    return F.date_from_unix_date(F.floor(F.unix_seconds(ts) / DAY).cast("int"))


def utc_hour(ts: Column) -> Column:
    """Return the hour of `ts` in UTC, with two digits."""
    hour = F.pmod(F.floor(F.unix_seconds(ts) / HOUR), F.lit(DAY // HOUR))
    return F.lpad(hour.cast("string"), 2, "0")


def unique(rows: DataFrame, parts: int) -> DataFrame:
    """Return one row for each PARTITION and KEY, with the rows of an hour in at most `parts` sorted parts.

    This takes one shuffle and one sort. Rows with the same key are practically always equal. If they are not,
    the row whose segment has the first name is kept.
    """
    who = F.hash("key_who", "key_boot")
    chunk = F.hash(who, F.shiftright("key_number", CHUNK))
    ranked = rows.withColumns({"part": F.pmod(chunk, F.lit(parts)), "rank": _rank(who)})
    order = Window.partitionBy("rank", *PARTITION, "part", *KEY).orderBy("segment")
    numbered = ranked.repartition(*PARTITION, "part").withColumn("nth", F.row_number().over(order))
    return numbered.where("nth = 1").select(rows.columns)


def stored(rows: DataFrame) -> DataFrame:
    """Return `rows` with the columns PARTITION and STORED; bad lines are in `raw`, without a reason yet."""
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
    hour, owner, number = F.hash(*PARTITION).cast("long"), who.cast("long"), F.col("key_number")
    high = F.shiftleft(hour.bitwiseAND(0xFFFF), 48).bitwiseOR(F.shiftleft(owner.bitwiseAND(0xFFFF), 32))
    return high.bitwiseOR(number.bitwiseAND(0xFFFF_FFFF))


def unknown(rows: DataFrame, known: DataFrame) -> DataFrame:
    """Return `rows` without the rows whose PARTITION and KEY are in `known`, sorted.

    Both frames have the columns PARTITION and STORED, and each key once.
    """
    # `known` is small in Parquet but may not fit into memory: "merge" reads both sides in order from disk.
    seen = known.withColumns(keys()).select(*PARTITION, *KEY).hint("merge")
    new = rows.withColumns(keys()).join(seen, [*PARTITION, *KEY], "left_anti")
    return new.repartition(*PARTITION).sortWithinPartitions(*PARTITION, *KEY).drop(*KEY)


def keys() -> dict[str, Column]:
    """Return the columns KEY by name, for rows that have PARTITION and STORED."""
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
    """Return the lines of `quarantined`, truncated, with their reasons, and each text once per segment."""
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
    """Return the date of the segment's directory, or that of UNDATED if the path has none."""
    text = F.regexp_extract(path, r"/date=(\d{4}-\d\d-\d\d)/hour=\d\d/[^/]*$", 1)
    return F.coalesce(text.try_cast("date"), F.lit(UNDATED[0]).cast("date"))


def _hour(path: Column) -> Column:
    text = F.regexp_extract(path, r"/hour=([01]\d|2[0-3])/[^/]*$", 1)
    return F.when(text != "", text).otherwise(UNDATED[1])
