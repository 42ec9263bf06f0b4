"""Typed times become moments that a history can hold."""

from datetime import UTC, datetime, timedelta, timezone

import click
import pytest

from mesh.history.moments import FIRST, LAST, bounded
from mesh.history.options import Moment

FAR = timezone(timedelta(hours=14)), timezone(timedelta(hours=-14))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("0001-01-01T00:00+14:00", FIRST),  # the year 0 in UTC
        ("0001-01-01", FIRST),
        ("1969-12-31T23:59:59Z", FIRST),
        ("1970-01-01T10:00+14:00", FIRST),
        ("1970-01-01T00:00:01", FIRST + timedelta(seconds=1)),
        ("1969-12-31T20:00-14:00", FIRST + timedelta(hours=10)),
        ("2026-11-21T08:00", datetime(2026, 11, 21, 8, tzinfo=UTC)),
        ("2026-11-21T08:00-05:00", datetime(2026, 11, 21, 13, tzinfo=UTC)),
        ("9999-12-31T23:59:59-14:00", LAST),  # the year 10000 in UTC
        ("9999-12-31", datetime(9999, 12, 31, tzinfo=UTC)),
        ("9999999w", FIRST),
    ],
)
def test_a_time_beyond_a_history_is_its_first_or_last_moment(text: str, moment: datetime) -> None:
    found = Moment().convert(text, None, None)
    assert (found, found.utcoffset()) == (moment, timedelta())


@pytest.mark.parametrize("text", ["", "0000-01-01", "10000-01-01", "2026-02-30", "7", "-1d", "nan", "1e9d"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="neither a time such as"):
        Moment().convert(text, None, None)


def test_the_ends_of_pythons_calendar_are_those_of_a_history() -> None:
    for zone in (None, UTC, *FAR):
        assert bounded(datetime.min.replace(tzinfo=zone)) == FIRST
        assert bounded(datetime.max.replace(tzinfo=zone)) >= LAST - timedelta(hours=14)
