"""Terms and comparisons of a selector, over header texts, keys, numbers and `None`."""

# Law: a comparison that Python cannot make is False, and nothing here raises.

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from mesh.values import Headers

_NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?", re.ASCII)


class SelectedMessage(NamedTuple):
    """The fields of a message that a selector can use."""

    key: str
    priority: int
    headers: Headers


class _Text(str):
    __slots__ = ()


SelectorValue = Any  # str, int, float, bool, None; tuples after `in`
SelectorTerm = Callable[[SelectedMessage], SelectorValue]


def _pair(left: SelectorValue, right: SelectorValue) -> tuple[SelectorValue, SelectorValue]:
    """Return both values; a header text that spells a number is converted if the other value is one."""
    if type(left) is _Text and type(right) in (int, float):
        return _number(left), right
    if type(right) is _Text and type(left) in (int, float):
        return left, _number(right)
    return left, right


def _number(text: str) -> SelectorValue:
    if _NUMBER.fullmatch(text) is None:
        return text
    return float(text) if "." in text else int(text)


def _equal(left: SelectorValue, right: SelectorValue) -> bool:
    left, right = _pair(left, right)
    return bool(left == right)


def _within(left: SelectorValue, right: SelectorValue) -> bool | None:
    """Return whether `left` is in `right`, or `None` if Python cannot compare them."""
    if isinstance(right, tuple):
        return any(_equal(left, each) for each in right)
    return left in right if isinstance(left, str) and isinstance(right, str) else None


def _ordered(
    compare: Callable[[SelectorValue, SelectorValue], bool],
) -> Callable[[SelectorValue, SelectorValue], bool]:
    def test(left: SelectorValue, right: SelectorValue) -> bool:
        left, right = _pair(left, right)
        try:
            return compare(left, right)
        except TypeError:
            return False

    return test


COMPARES: dict[type[ast.cmpop], Callable[[SelectorValue, SelectorValue], bool]] = {
    ast.Eq: _equal,
    ast.NotEq: lambda left, right: not _equal(left, right),
    ast.Lt: _ordered(operator.lt),
    ast.LtE: _ordered(operator.le),
    ast.Gt: _ordered(operator.gt),
    ast.GtE: _ordered(operator.ge),
    ast.In: lambda left, right: _within(left, right) is True,
    ast.NotIn: lambda left, right: _within(left, right) is False,
    ast.Is: lambda left, right: left is None,
    ast.IsNot: lambda left, right: left is not None,
}


def header(name: str) -> SelectorTerm:
    """Return a term that yields the first value of the header, or `None` without the header."""

    def value(message: SelectedMessage) -> SelectorValue:
        text = message.headers.get(name)
        return None if text is None else _Text(text)

    return value


def joined(terms: list[SelectorTerm], is_or: bool) -> SelectorTerm:
    """Join the terms with `and` or `or`: the value is that of the first deciding term, else of the last."""

    def value(message: SelectedMessage) -> SelectorValue:
        found = None
        for term in terms:
            found = term(message)
            if bool(found) is is_or:
                break
        return found

    return value


def chained(
    first: SelectorTerm, steps: list[tuple[Callable[[SelectorValue, SelectorValue], bool], SelectorTerm]]
) -> SelectorTerm:
    """Return a term for chained comparisons such as `1 < x < 9`."""

    def value(message: SelectedMessage) -> bool:
        left = first(message)
        for compare, term in steps:
            right = term(message)
            if not compare(left, right):
                return False
            left = right
        return True

    return value
