"""Is a line what a node writes? And if not, what is wrong with it?

`is_good` is asked of each line, so it is one expression that is quick where all is well. `reason` is asked
of the few that are not, and may take its time.
"""

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType, TimestampType

from spark.moments import FIRST, LAST
from spark.schema import COLUMNS, LINE

KINDS = ("state", "event", "link", "queue", "balance", "topic", "service")
REQUIRED = ("kind", "cluster", "observer", "observer_uuid", "observer_boot", "line", "ts", "node")
REQUIRED_OF = {
    "state": ("uuid", "boot", "version", "wall"),
    "event": ("event",),
    "queue": ("queue",),
    "topic": ("topic",),
    "service": ("address",),
}
HIGHEST = {"cpu": 100.0, "load": 1.0}  # all others have no end
SIGNED = ("skew",)  # all others are 0 or more
NO_ZONE = r"T[\d:.]*\s*$"  # the end of a time that does not say its zone
CORRUPT = "not_parsed"  # the column that holds a line that Spark could not read as it should
SHOWN = 40  # characters of what is wrong
UUID = 32  # characters

TIMES = [name for name, type_ in COLUMNS.items() if type_ == TimestampType()]
TEXTS = [name for name, type_ in COLUMNS.items() if type_ == StringType()]
WHOLE = [name for name, type_ in COLUMNS.items() if type_ == LongType()]
DOUBLE = [name for name, type_ in COLUMNS.items() if type_ == DoubleType()]
UNSIGNED = [name for name in DOUBLE if name not in SIGNED]
# Spark takes a number or an object for a text, and half of a time for a time: so times are read as texts.
FIELDS = StructType(
    [StructField(f.name, StringType() if f.name in TIMES else f.dataType) for f in LINE]
    + [StructField(CORRUPT, StringType())]
)
JSON = {"columnNameOfCorruptRecord": CORRUPT, "allowSingleQuotes": "false"}


def parsed(lines: DataFrame) -> DataFrame:
    """Beside `value`, a line, and whatever else there is: `read`, its columns in one, as far as Spark could
    read them, with CORRUPT, which is null if it could read them all; and TIMES."""
    read = lines.withColumn("read", F.from_json("value", FIELDS, JSON))
    return read.withColumns({name: _time(F.col(f"read.{name}")) for name in TIMES})


def field(name: str) -> Column:
    """A column of a line that `parsed` has read."""
    return F.col(name if name in TIMES else f"read.{name}")


def _time(text: Column) -> Column:
    """Null for what is none. A time without a zone is UTC; Spark would take the zone of the session."""
    names_zone = text.endswith("Z") | ~text.rlike(NO_ZONE)
    zoned = F.when(names_zone, text).otherwise(F.concat(F.rtrim(text), F.lit("Z")))
    return F.when(F.substring(text, 11, 1) == "T", zoned.try_cast(TimestampType()))


def is_good(value: Column) -> Column:
    """Asked of a line and what `parsed` found in it. Never null."""
    kind = field("kind")
    # NaN counts as more than that.
    finite = F.greatest(*(F.abs(field(name)) for name in DOUBLE)) < float("inf")
    return F.coalesce(
        field(CORRUPT).isNull()
        & kind.isin(*KINDS)
        & _given(REQUIRED)
        & reduce(and_, ((kind != name) | _given(fields) for name, fields in REQUIRED_OF.items()))
        & _or_null(F.least(*map(field, WHOLE)) >= 0)
        & _or_null(F.least(*map(field, UNSIGNED)) >= 0)
        & _or_null(finite)
        & reduce(and_, (_or_null(field(name) <= highest) for name, highest in HIGHEST.items()))
        & _or_null(F.least(*TIMES) >= FIRST)
        & _or_null(F.greatest(*TIMES) <= LAST)
        & ~_is_no_text(value, TEXTS)
        & _is_one_object(value),
        F.lit(False),
    )


def reason(value: Column) -> Column:
    """Why a line is not good, in words. Asked of the same; null stands for a file that is too large."""
    kind = field("kind")
    return F.coalesce(
        F.when(value.isNull(), F.lit("the file is too large to be a segment")),
        F.when(_fields(value).isNull(), _instead_of_an_object(value)),
        *(F.when(_is_no_text(value, [name]), F.lit(f"{name} is not a text")) for name in TEXTS),
        _wrong_types(value),
        F.when(~kind.isin(*KINDS), F.concat(F.lit("unknown kind: "), F.substring(kind, 1, SHOWN))),
        *(_no_time(value, name) for name in TIMES),
        _missing(REQUIRED),
        *(F.when(kind == name, _missing(fields)) for name, fields in REQUIRED_OF.items()),
        *(_out_of_range(name) for name in WHOLE + DOUBLE),
        F.lit("not JSON"),
    )


def _given(names: Sequence[str]) -> Column:
    return reduce(and_, (field(name).isNotNull() for name in names))


def _or_null(condition: Column) -> Column:
    return F.coalesce(condition, F.lit(True))


def _is_no_text(value: Column, names: Sequence[str]) -> Column:
    """Was one of them a number, say, in the line? That is looked up only where a text looks like one."""
    looks_like_one = reduce(or_, map(_looks_like_no_text, names))
    field = rf'(?<!\\)"(?:{"|".join(names)})"\s*:\s*[^"\s]'
    return F.coalesce(F.when(looks_like_one, value.rlike(field)), F.lit(False))


def _looks_like_no_text(name: str) -> Column:
    """Never null. What begins with a letter is known at once, and that are nearly all."""
    text = field(name)
    odd = (text < "A") | (text >= "{") | text.startswith("[") | text.isin("true", "false")
    if name.endswith("uuid"):
        odd &= F.length(text) != UUID
    return F.coalesce(
        F.when(odd, text.rlike(r"^(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|[\[{].*)$")), F.lit(False)
    )


def _is_one_object(value: Column) -> Column:
    """Spark reads the first object of a line, and is content, whatever comes behind it."""
    # Bytes, as it takes long to count characters. A brace may also stand in a text: then look more closely.
    but_the_last = F.substring(value.cast("binary"), F.lit(1), F.octet_length(value) - 1).cast("string")
    plain = value.startswith("{") & ~but_the_last.contains("}")
    # What takes long stands here once: Spark works out what it sees twice, before it knows if it is needed.
    return plain | (F.ltrim(value).startswith("{") & (F.size(_as_list(value)) == 1))


def _fields(value: Column) -> Column:
    """The fields of a line as texts; null if it is not one object."""
    return F.when(F.size(_as_list(value)) == 1, _as_list(value)[0])


def _as_list(value: Column, of: str = "map<string,string>") -> Column:
    return F.from_json(F.concat(F.lit("["), value, F.lit("]")), f"array<{of}>", JSON)


def _instead_of_an_object(value: Column) -> Column:
    is_json = _as_list(value, "string").isNotNull()
    return (
        F.when(is_json, F.lit("no JSON object"))
        .when(field(CORRUPT).isNull(), F.lit("something stands behind the JSON object"))
        .otherwise(F.lit("not JSON"))
    )


def _wrong_types(value: Column) -> Column:
    """The fields that are there, and yet were not read."""
    given = F.map_keys(F.map_filter(_fields(value), lambda _, text: text.isNotNull()))
    lost = F.array_intersect(given, _nulls(WHOLE + DOUBLE))
    return F.when(F.size(lost) > 0, F.concat(F.lit("wrong type: "), F.array_join(lost, ", ")))


def _no_time(value: Column, name: str) -> Column:
    text = _fields(value)[name]
    return F.when(
        text.isNotNull() & ~F.coalesce(field(name).between(FIRST, LAST), F.lit(False)),
        F.concat(F.lit(f"{name} is not a time: "), F.substring(text, 1, SHOWN)),
    )


def _missing(names: Sequence[str]) -> Column:
    nulls = _nulls(names)
    return F.when(F.size(nulls) > 0, F.concat(F.lit("missing: "), F.array_join(nulls, ", ")))


def _nulls(names: Sequence[str]) -> Column:
    return F.array_compact(F.array(*(F.when(field(name).isNull(), F.lit(name)) for name in names)))


def _out_of_range(name: str) -> Column:
    figure = field(name)
    is_out = ~(F.abs(figure) < float("inf")) | (figure > HIGHEST.get(name, float("inf")))
    if name not in SIGNED:
        is_out |= figure < 0
    return F.when(is_out, F.concat(F.lit(f"{name} is out of its range: "), figure.cast("string")))
