"""Does docs/spark.md tell what is so: every field, every column, and commands and programs that run?"""

import re

import pytest
from msgspec.structs import fields
from pyspark.sql.types import DataType, DoubleType, LongType, StringType, TimestampType

from mesh.snapshots.line import KINDS, Line
from spark.schema import COLUMNS
from tests.pages import SPARK

PAGE = SPARK.read_text()
TYPES: dict[str, DataType] = {
    "text": StringType(), "whole": LongType(), "number": DoubleType(), "time": TimestampType(),
}  # fmt: skip
DAY = 86_400
EVERY = {"state": 2}  # s; all others
FIGURES = 10


def table(head: str) -> list[list[str]]:
    """The cells of the rows below the row that begins with `head`."""
    [rows] = re.findall(rf"^\| {re.escape(head)} \|.*\n\|[- |]+\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    return [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in rows.splitlines()]


def of_kind(kind: str) -> list[str]:
    return [row[0].strip("`") for row in table(f"in `{kind}`")]


def test_the_page_names_every_field_of_a_line_and_no_other() -> None:
    told = [row[:2] for head in ("in every line", *(f"in `{kind}`" for kind in KINDS)) for row in table(head)]
    assert [name for name, _ in told] == [f"`{field.name}`" for field in fields(Line)]
    assert {name.strip("`"): TYPES[type_] for name, type_ in told} == COLUMNS


def test_the_page_names_every_kind_of_line() -> None:
    assert sorted(row[0] for row in table("kind")) == sorted(f"`{kind}`" for kind in KINDS)


def test_megabytes_a_day_follow_from_the_bytes_of_a_line() -> None:
    for kind, _, _, size, megabytes in table("kind"):
        if kind == "`event`":
            continue
        lines = DAY / EVERY.get(kind.strip("`"), FIGURES)
        assert float(megabytes) == pytest.approx(int(size) * lines / 1e6, rel=0.02)
