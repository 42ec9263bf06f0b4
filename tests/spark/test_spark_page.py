"""The fields, columns, views and codes that docs/spark.md names: all of them, and no others."""

import ast
import re

import pytest
from msgspec.structs import fields
from pyspark.sql.types import DataType, DoubleType, LongType, StringType, TimestampType

from mesh.history import views
from mesh.history.failures import CHECKPOINT, SESSION, UNKNOWN
from mesh.history.failures import KINDS as FAILURES
from mesh.history.lines import OF_INGEST, TABLE
from mesh.history.schema import COLUMNS
from mesh.snapshots.line import KINDS, HistoryLine
from tests.pages import ROOT
from tests.spark.page import VIEWS, table

TYPES: dict[str, DataType] = {
    "text": StringType(),
    "whole": LongType(),
    "number": DoubleType(),
    "time": TimestampType(),
}
DAY = 86_400
EVERY, FIGURES = {"state": 2}, 10  # s between lines of state and of other kinds
NO_TABLES = {("clocks", "aligned"), ("load", "width")}  # they return a history and a number


def test_the_page_names_every_field_of_a_line_and_no_other() -> None:
    told = [row[:2] for head in ("in every line", *(f"in `{kind}`" for kind in KINDS)) for row in table(head)]
    assert [name for name, _ in told] == [f"`{field.name}`" for field in fields(HistoryLine)]
    assert {name.strip("`"): TYPES[type_] for name, type_ in told} == COLUMNS


def test_the_page_names_every_kind_of_line() -> None:
    assert sorted(row[0] for row in table("kind")) == sorted(f"`{kind}`" for kind in KINDS)


def test_megabytes_a_day_follow_from_the_bytes_of_a_line() -> None:
    for kind, _, _, size, megabytes in table("kind"):
        if kind != "`event`":
            lines = DAY / EVERY.get(kind.strip("`"), FIGURES)
            assert float(megabytes) == pytest.approx(int(size) * lines / 1e6, rel=0.02)


def test_the_page_names_what_ingest_adds_to_the_columns_of_a_line() -> None:
    told = [(name.strip("`"), TYPES[type_]) for name, type_, _ in table("column that ingest adds")]
    assert told == [(name, TABLE[name].dataType) for name in OF_INGEST]


def test_the_page_has_a_table_of_every_view() -> None:
    listed = re.findall(r"^(\w+)\.(\w+)\((.*?)\)$", views.__doc__ or "", re.MULTILINE)
    known = [view for view in listed if view[:2] not in NO_TABLES]
    assert sorted(known) == sorted((view.room, view.name, view.arguments) for view in VIEWS)


def test_the_page_names_every_code_that_an_error_of_a_job_has() -> None:
    sources = [ast.parse(path.read_text()) for path in (ROOT / "spark").rglob("*.py")]
    calls = [node for source in sources for node in ast.walk(source) if isinstance(node, ast.Call)]
    errors = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "SparkJobError"]
    codes = {code.value for *_, code in (call.args for call in errors) if isinstance(code, ast.Constant)}
    told = {row[0].strip("`") for row in table("code")}
    assert told == codes | {kind.code for kind in (*FAILURES, CHECKPOINT, SESSION, UNKNOWN)} | {"NO_SPARK"}
