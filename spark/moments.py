"""Times that a history can hold: the years 1970 to 9999.

This module does not import Spark.
"""

from datetime import UTC, datetime

FIRST = datetime(1970, 1, 1, tzinfo=UTC)
LAST = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)


def bounded(moment: datetime) -> datetime:
    """Return `moment` in UTC, limited to FIRST and LAST.

    A time without a zone is local time, as everywhere in Python.
    """
    try:
        utc = moment.astimezone(UTC)
    except (OverflowError, ValueError):  # its year in UTC is 0 or 10000
        return FIRST if moment.year < FIRST.year else LAST
    return min(max(utc, FIRST), LAST)
