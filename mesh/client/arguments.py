"""Checks arguments at the call, because a node would refuse bad values only by hanging up."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from numbers import Real
from operator import index
from typing import Any

from mesh.errors import BadArgument, BadType
from mesh.shortening import shown
from mesh.values import check_text

LONGEST_TEXT = 4096  # characters
MOST_NODES = 16  # that a client may name
LONGEST = 100 * 365 * 86_400  # s: 100 years, whose ns fit 64 bits


def whole(name: str, value: Any, lowest: int, highest: int) -> int:
    """Return `value` as a whole number within the bounds; bools are refused. Raises: BadArgument."""
    try:
        number = index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or not lowest <= number <= highest:
        hint = f"Use a whole number from {lowest:,} to {highest:,}."
        raise BadArgument(f"{name}={shown(value)} is invalid.", hint=hint)
    return number


def seconds(name: str, value: Any, *, zero: bool = False) -> float:
    """Return a number of seconds above 0 (`zero`: from 0), up to 100 years. Raises: BadArgument."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    number = float(value) if is_number and abs(value) <= LONGEST else math.nan
    if not (number >= 0 if zero else number > 0):
        hint = f"Use a number of seconds {'from' if zero else 'above'} 0, at most {LONGEST:,} (100 years)."
        raise BadArgument(f"{name}={shown(value)} is invalid.", hint=hint)
    return number


def yes_or_no(name: str, value: Any) -> bool:
    """Return `value` if it is a bool; truthy values are refused. Raises: BadArgument."""
    if not isinstance(value, bool):
        raise BadArgument(f"{name}={shown(value)} is invalid.", hint="Use True or False.")
    return value


def text(name: str, value: Any) -> str | None:
    """Return `value` if it is None or a text that can be sent. Raises: BadArgument.

    A text has up to LONGEST_TEXT characters, and no control characters.
    """
    if value is not None:
        check_text(value, name, LONGEST_TEXT, BadArgument)
    return value  # type: ignore[no-any-return]


def not_subscribed(value: Any) -> BadArgument:
    hint = "Pass what subscribe() returned, or the name of a durable subscription."
    return BadArgument(f"{shown(value)} is not a subscription.", hint=hint)


def several_nodes(address: Any, others: tuple[Any, ...]) -> tuple[str, ...]:
    """Return the nodes that a client names, without repeats; none unless there are several.

    Raises: BadArgument.
    """
    if not others:
        return ()
    names = (address, *others)
    if len(names) > MOST_NODES:
        what = f"connect() was given {len(names)} nodes; at most {MOST_NODES} are allowed."
        raise BadArgument(what, hint="Name two or three: a client learns of the others.")
    for name in names:
        if text("address", name) in (None, ""):
            hint = "Use names or addresses of nodes, such as mesh.connect('heron', 'stork')."
            raise BadArgument(f"address={shown(name)} is invalid among several nodes.", hint=hint)
    return tuple(dict.fromkeys(names))


def environment(given: Any) -> Mapping[str, str]:
    """Return `given`, or the variables of this process if it is None. Raises: BadType."""
    if given is None:
        return os.environ
    if not isinstance(given, Mapping) or not all(isinstance(each, str) for each in (*given, *given.values())):
        what = f"environ= must be a dict of str to str, not {shown(given)}."
        raise BadType(what, hint="Omit it to use os.environ.")
    return given


def several(contents: Iterable[Any], verb: str = "publish") -> None:
    """Raise BadArgument unless `contents` is an iterable of contents.

    A single text, bytes object, mapping or model is refused; the hint then names `verb`, the call for a
    single message.
    """
    is_one = isinstance(contents, str | bytes | bytearray | memoryview | Mapping)
    if is_one or hasattr(contents, "model_dump") or not isinstance(contents, Iterable):
        what = f"contents must be a list or another iterable of contents, not {shown(contents)}."
        raise BadArgument(what, hint=f"For a single message, use {verb}().")
