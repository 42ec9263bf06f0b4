"""Formatting of times in ISO 8601, UTC, without a clock or the operating system."""

from functools import lru_cache

DAY = 86_400_000_000  # µs
EPOCH = 719_468  # days from 1 March of the year 0 to 1 January 1970
ERA = 146_097  # days in 400 years


def iso(wall: int) -> str:
    """Return `wall`, in ns since 1970, as "2026-11-21T09:57:25.000001Z"."""
    day, rest = divmod(wall // 1000, DAY)
    seconds, micros = divmod(rest, 1_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{_date(day)}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z"


@lru_cache(maxsize=16)
def _date(day: int) -> str:
    """Return the date of a day since 1970. Years begin in March here: the leap day is the last one."""
    era, in_era = divmod(day + EPOCH, ERA)
    leaps = in_era // 1460 - in_era // 36_524 + in_era // 146_096
    year = (in_era - leaps) // 365
    in_year = in_era - (365 * year + year // 4 - year // 100)
    month = (5 * in_year + 2) // 153
    in_month = in_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return f"{era * 400 + year + (month <= 2):04}-{month:02}-{in_month:02}"
