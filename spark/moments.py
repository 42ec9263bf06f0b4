"""Which moments can a history hold? Those of the years 1970 to 9999. (This file imports nothing of Spark.)"""

from datetime import UTC, datetime

FIRST = datetime(1970, 1, 1, tzinfo=UTC)
LAST = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)


def bounded(moment: datetime) -> datetime:
    """Return `moment` in UTC; one beyond FIRST or LAST becomes that bound.

    Without a zone it is one of this machine's, as everywhere in Python.
    """
    try:
        utc = moment.astimezone(UTC)
    except (OverflowError, ValueError):  # in UTC its year is 0 or 10000
        return FIRST if moment.year < FIRST.year else LAST
    return min(max(utc, FIRST), LAST)
