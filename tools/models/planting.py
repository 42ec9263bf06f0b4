"""Mistakes that are planted into the models and the product, to show that the searches find them."""

# Law: the results of rules are remembered, and forgotten when a mistake is planted or removed.

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, cast
from unittest.mock import patch

Patch = tuple[Any, str, Any]  # module or class, name, mistaken value
F = TypeVar("F", bound=Callable[..., Any])

_remembered: list[Any] = []


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake, which the search of `scenario` finds.

    Each of the `patches` replaces a rule in one module of the models or the product, or a marked place of a
    model.
    """

    scenario: str
    patches: tuple[Patch, ...]


def remembered(rule: F) -> F:
    """Remember the results of a rule, which a search calls millions of times with few different arguments."""
    known = cache(rule)
    _remembered.append(known)
    return cast(F, known)


@contextmanager
def planted(mistake: Mistake) -> Iterator[None]:
    """Plant a mistake while the context lasts."""
    with ExitStack() as stack:
        stack.callback(_forget_results)
        for owner, name, value in mistake.patches:
            stack.enter_context(patch.object(owner, name, value))
        _forget_results()
        yield


def _forget_results() -> None:
    for known in _remembered:
        known.cache_clear()
