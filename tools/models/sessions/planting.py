"""Mistakes that are planted into the models, to show that the searches find them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

Patch = tuple[Any, str, Any]  # module, name, mistaken value


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake, which the search of `scenario` finds.

    Each of the `patches` replaces a rule in one module, or a marked place of a model.
    """

    scenario: str
    patches: tuple[Patch, ...]


@contextmanager
def planted(mistake: Mistake) -> Iterator[None]:
    """Plant a mistake while the context lasts."""
    with ExitStack() as stack:
        for owner, name, value in mistake.patches:
            stack.enter_context(patch.object(owner, name, value))
        yield
