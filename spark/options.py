"""Options that several jobs share, and their types."""

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import click

from mesh.history.files import history_address
from mesh.history.moments import bounded

F = TypeVar("F", bound=Callable[..., Any])

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
FARTHEST = timedelta(days=36_500)


class Number(click.FloatRange):
    """A finite number within limits."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):  # nan passes the limits
            self.fail(f"{number} is not a finite number.", param, ctx)
        return number


class Moment(click.ParamType[datetime]):
    """A time in ISO 8601, UTC by default, or a span before now: 30m, 12h, 7d."""

    name = "moment"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        text = str(value).strip()
        try:
            if (ago := span(text)) is not None:
                return bounded(datetime.now(UTC) - ago)
            found = datetime.fromisoformat(text)
        except (ValueError, OverflowError):
            self.fail(
                f"{text!r} is neither a time such as 2026-11-21T08:00 nor a duration such as 12h or 7d."
            )
        return bounded(found if found.tzinfo else found.replace(tzinfo=UTC))


class Span(click.ParamType[timedelta]):
    """A span of time: 30m, 12h, 7d."""

    name = "span"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        if isinstance(value, timedelta):
            return value
        found = span(str(value).strip())
        if found is None:
            self.fail(f"{value!r} is not a duration such as 30m, 12h or 7d.")
        return found


def span(text: str) -> timedelta | None:
    """Return the span of a text such as "90s", "1.5h" or "7d", at most FARTHEST; None for any other text."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", text)
    if match is None:
        return None
    return min(timedelta(**{UNITS[match[2]]: min(float(match[1]), 1e6)}), FARTHEST)


def settings(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> Mapping[str, str]:
    """Return the settings of --conf, by name. Raises: click.BadParameter."""
    found = {}
    for text in given:
        name, assigned, value = text.partition("=")
        if not name or not assigned:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE.")
        found[name] = value
    return found


def spark(command: F) -> F:
    """Add the options --master and --conf to `command`, as the parameters `master` and `conf`."""
    master = click.option(
        "--master",
        metavar="URL",
        help="Use the Spark cluster at URL. Default: that of spark-submit, else local[*].",
    )
    conf = click.option(
        "--conf",
        multiple=True,
        callback=settings,
        metavar="NAME=VALUE",
        help="Set a Spark setting, such as spark.driver.memory=4g. Can be repeated.",
    )
    return master(conf(command))


def place(text: str) -> str:
    """Return `text`, a path or a Hadoop address. Raises: click.BadParameter, if it is blank."""
    if not text.strip():
        raise click.BadParameter("The place is blank.")
    return text


def history(text: str) -> str:
    """Return `text`, the place of a history. Raises: click.BadParameter, or SparkJobError BAD_PLACE."""
    history_address(place(text))
    return text


sources = click.option(
    "--from",
    "sources",
    multiple=True,
    type=place,
    metavar="PLACE",
    help="Read snapshots in PLACE, a directory or a Hadoop address. Can be repeated.",
)
to = click.option(
    "--to", required=True, type=history, metavar="PLACE", help="Directory or address of the history."
)
since = click.option(
    "--since",
    type=Moment(),
    metavar="TIME",
    help="Start at TIME: 30m, 12h or 7d (before now), or 2026-11-21T08:00 (UTC). Default: the beginning.",
)
until = click.option("--until", type=Moment(), metavar="TIME", help="End at TIME. Default: now.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
