"""A line becomes the same row, in the same hour, in any time zone of the session."""

import json
import re
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mesh.history.ingest import ingest
from tests.pages import ROOT
from tests.spark.comparing import rows
from tests.spark.writing import START, line, segments

ZONES = ("America/New_York", "Asia/Kolkata")  # behind and ahead of UTC, the latter by half hours too
# Functions of Spark that read the time zone of the session.
OF_THE_SESSION = {
    "convert_timezone", "curdate", "current_date", "current_timezone", "date_format", "date_part",
    "date_trunc", "datepart", "day", "dayofmonth", "dayofweek", "dayofyear", "extract", "from_unixtime",
    "from_utc_timestamp", "hour", "localtimestamp", "make_timestamp", "minute", "month", "second", "to_date",
    "to_timestamp", "to_utc_timestamp", "trunc", "try_to_timestamp", "weekofyear", "window", "year",
}  # fmt: skip
CAST = re.compile(r"""cast\((?:"timestamp"|TimestampType\(\))\)""")  # of a text: reads the session zone


def session_functions(source: str) -> set[str]:
    """Return the calls of a module that depend on the session's time zone."""
    functions = set(re.findall(r"\bF\.(\w+)", source))
    return (functions & OF_THE_SESSION) | set(CAST.findall(source))


def test_no_function_reads_the_time_zone_of_the_session() -> None:
    found = {path.name: session_functions(path.read_text()) for path in (ROOT / "spark").rglob("*.py")}
    # This text names its zone.
    assert {name: names for name, names in found.items() if names} == {"checks.py": {"cast(TimestampType())"}}


def in_zone(session: SparkSession, zone: str) -> SparkSession:
    """Return a session as a notebook has it: its own time zone, and strict rules for values."""
    own = session.newSession()
    own.conf.set("spark.sql.session.timeZone", zone)
    own.conf.set("spark.sql.ansi.enabled", "true")
    return own


@pytest.mark.spark
def test_without_its_checkpoint_a_session_of_any_time_zone_finds_the_rows_that_are_there(
    session: SparkSession, tmp_path: Path
) -> None:
    source, to = tmp_path / "in", tmp_path / "to"
    # A time without a zone is UTC. A time with another zone is converted.
    times = [
        "2026-01-01T23:20:00Z",
        "2026-01-02T00:20:00",
        "2026-01-02T04:50:00 ",
        "2026-01-02T05:50:00+05:30",
    ]
    lines = [line("event", ts=time) for time in times] + [line("state", ts=START, wall=times[1])]
    [path, *_] = segments(source, lines)
    with path.open("a") as file:
        file.write("bad\n" + json.dumps(line("event") | {"ts": "2026-01-32T00:00:00Z"}) + "\n")
    made = ingest(session, [str(source)], str(to))
    assert (made.rows, made.repeated, made.quarantined) == (len(lines), 0, 2)
    before = rows(session, to)
    for zone in ZONES:
        shutil.rmtree(to / "_checkpoint")
        again = ingest(in_zone(session, zone), [str(source)], str(to))
        assert (again.rows, again.repeated, again.quarantined) == (0, len(lines) + 2, 0), zone
        assert rows(session, to) == before, zone
