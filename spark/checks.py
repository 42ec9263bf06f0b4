"""Validation of lines, and the reasons why lines are bad.

`is_good` is evaluated for each line, so it is one expression that is fast for good lines. `reason` is
evaluated for the few bad lines, and may be slow.
"""

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType, TimestampType

from mesh.history.moments import FIRST, LAST
from mesh.history.schema import COLUMNS, LINE

KINDS = ("state", "event", "link", "queue", "balance", "topic", "service")
REQUIRED = ("kind", "cluster", "observer", "observer_uuid", "observer_boot", "line", "ts", "node")
REQUIRED_OF = {
    "state": ("uuid", "boot", "version", "wall"),
    "event": ("event",),
    "queue": ("queue",),
    "topic": ("topic",),
    "service": ("address",),
}
HIGHEST = {"cpu": 100.0, "load": 1.0}  # others have no maximum
SIGNED = ("skew",)  # others are 0 or more
NO_ZONE = r"T[\d:.]*\s*$"  # end of a time without a zone
CORRUPT = "not_parsed"  # column of a line that Spark could not parse
SHOWN = 40  # characters of a wrong value
UUID = 32  # characters

TIMES = [name for name, type_ in COLUMNS.items() if type_ == TimestampType()]
TEXTS = [name for name, type_ in COLUMNS.items() if type_ == StringType()]
WHOLE = [name for name, type_ in COLUMNS.items() if type_ == LongType()]
DOUBLE = [name for name, type_ in COLUMNS.items() if type_ == DoubleType()]
UNSIGNED = [name for name in DOUBLE if name not in SIGNED]
# Spark accepts a number or an object as a text, and an incomplete time as a time. Times are therefore read as
# texts.
FIELDS = StructType(
    [StructField(f.name, StringType() if f.name in TIMES else f.dataType) for f in LINE]
    + [StructField(CORRUPT, StringType())]
)
JSON = {"columnNameOfCorruptRecord": CORRUPT, "allowSingleQuotes": "false"}


def parsed(lines: DataFrame) -> DataFrame:
    """Return `lines` with the columns `read`, a struct of the parsed fields, and TIMES.

    CORRUPT in `read` is null if Spark could parse all fields. Other columns are kept.
    """
    read = lines.withColumn("read", F.from_json("value", FIELDS, JSON))
    return read.withColumns({name: _time(F.col(f"read.{name}")) for name in TIMES})


def field(name: str) -> Column:
    return F.col(name if name in TIMES else f"read.{name}")


def _time(text: Column) -> Column:
    """Return the time in ISO 8601 that `text` names, or null for any other text.

    A time without a zone is UTC; Spark would use the session's zone.
    """
    names_zone = text.endswith("Z") | ~text.rlike(NO_ZONE)
    zoned = F.when(names_zone, text).otherwise(F.concat(F.rtrim(text), F.lit("Z")))
    return F.when(F.substring(text, 11, 1) == "T", zoned.try_cast(TimestampType()))


def is_good(value: Column) -> Column:
    """Return whether a parsed line is good; the result is never null."""
    kind = field("kind")
    # NaN is greater than infinity here.
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
    """Return the reason why a line is bad, as text.

    A null `value` represents a file that is too large.
    """
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
    """Return whether one of the fields `names` is a number, boolean, list or object in the line, not a text.

    The check is slow, so it is limited to lines in which Spark has read such a value as a text.
    """
    looks_like_one = reduce(or_, map(_looks_like_no_text, names))
    field = rf'(?<!\\)"(?:{"|".join(names)})"\s*:\s*[^"\s]'
    return F.coalesce(F.when(looks_like_one, value.rlike(field)), F.lit(False))


def _looks_like_no_text(name: str) -> Column:
    """Return whether the text of the field `name` looks like a number, boolean, list or object.

    The result is never null, and fast for plain words.
    """
    text = field(name)
    odd = (text < "A") | (text >= "{") | text.startswith("[") | text.isin("true", "false")
    if name.endswith("uuid"):
        odd &= F.length(text) != UUID
    return F.coalesce(
        F.when(odd, text.rlike(r"^(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|[\[{].*)$")), F.lit(False)
    )


def _is_one_object(value: Column) -> Column:
    """Return whether a line that Spark could parse is a single JSON object.

    Spark ignores any text after the first object.
    """
    # Bytes, because counting characters is slow. A brace may also be part of a text, so a full check follows.
    but_the_last = F.substring(value.cast("binary"), F.lit(1), F.octet_length(value) - 1).cast("string")
    plain = value.startswith("{") & ~but_the_last.contains("}")
    # The slow part occurs only once: Spark evaluates a repeated part before it knows whether it is needed.
    return plain | (F.ltrim(value).startswith("{") & (F.size(_as_list(value)) == 1))


def _fields(value: Column) -> Column:
    """Return the fields of a line as texts, or null if it is not one object."""
    return F.when(F.size(_as_list(value)) == 1, _as_list(value)[0])


def _as_list(value: Column, of: str = "map<string,string>") -> Column:
    return F.from_json(F.concat(F.lit("["), value, F.lit("]")), f"array<{of}>", JSON)


def _instead_of_an_object(value: Column) -> Column:
    is_json = _as_list(value, "string").isNotNull()
    return (
        F.when(is_json, F.lit("no JSON object"))
        .when(field(CORRUPT).isNull(), F.lit("text after the JSON object"))
        .otherwise(F.lit("not JSON"))
    )


def _wrong_types(value: Column) -> Column:
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
