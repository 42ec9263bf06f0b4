"""Is that a value which a method takes? Told at the call: a node would refuse it later, by hanging up."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from numbers import Real
from operator import index
from typing import Any

from mesh.errors import BadArgument, BadType, shown
from mesh.values import check_text

LONGEST_TEXT = 4096  # characters
LONGEST = 100 * 365 * 86_400  # s: a hundred years; in ns since 1970 twice as much would not fit


def whole(name: str, value: Any, lowest: int, highest: int) -> int:
    """A whole number within these bounds."""
    try:
        number = index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or not lowest <= number <= highest:
        hint = f"It is a whole number from {lowest:,} to {highest:,}."
        raise BadArgument(f"{name}={shown(value)} cannot be.", hint=hint)
    return number


def seconds(name: str, value: Any, *, zero: bool = False) -> float:
    """A number of seconds above 0, or from 0 on; neither inf nor nan."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    number = float(value) if is_number and abs(value) <= LONGEST else math.nan
    if not (number >= 0 if zero else number > 0):
        hint = f"It is a number of seconds {'from' if zero else 'above'} 0, at most {LONGEST:,} (100 years)."
        raise BadArgument(f"{name}={shown(value)} cannot be.", hint=hint)
    return number


def yes_or_no(name: str, value: Any) -> bool:
    """True or False, and nothing that only counts as one of them."""
    if not isinstance(value, bool):
        raise BadArgument(f"{name}={shown(value)} cannot be.", hint="It is True or False.")
    return value


def text(name: str, value: Any) -> str | None:
    """A text that can be written down, or None."""
    if value is not None:
        check_text(value, name, LONGEST_TEXT, BadArgument)
    return value  # type: ignore[no-any-return]


def not_subscribed(value: Any) -> BadArgument:
    """What to say of what `unsubscribe` was given, and no subscription."""
    return BadArgument(f"{shown(value)} is no subscription.", hint="Give what subscribe() gave.")


def environment(given: Any) -> Mapping[str, str]:
    """What stands for the variables of this process: they themselves for None. BadType."""
    if given is None:
        return os.environ
    if not isinstance(given, Mapping) or not all(isinstance(each, str) for each in (*given, *given.values())):
        what = f"environ= is a dict of names and texts, not {shown(given)}."
        raise BadType(what, hint="Leave it out for os.environ.")
    return given


def several(contents: Iterable[Any], verb: str = "publish") -> None:
    """Are these several contents, and not a single one? `verb`: that of a single one."""
    is_one = isinstance(contents, str | bytes | bytearray | memoryview | Mapping)
    if is_one or hasattr(contents, "model_dump") or not isinstance(contents, Iterable):
        what = f"contents are a list, or whatever gives one after the other, not {shown(contents)}."
        raise BadArgument(what, hint=f"To {verb} a single message use {verb}().")
