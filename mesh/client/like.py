"""A decorator that lists the options of a call in `help()`, although they are declared elsewhere."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from inspect import Parameter
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def shows_options(model: Callable[..., Any]) -> Callable[[F], F]:
    """Return a decorator for a function with `**options`.

    `help()` shows the keyword arguments of `model` and their defaults in place of `**options`.
    """
    shown = [it for it in inspect.signature(model).parameters.values() if it.kind is Parameter.KEYWORD_ONLY]
    names = {it.name for it in shown}

    def show(function: F) -> F:
        own = inspect.signature(function)
        at = [it for it in own.parameters.values() if it.kind is not Parameter.VAR_KEYWORD]
        first = [it for it in at if it.kind is not Parameter.KEYWORD_ONLY]
        last = [it for it in at if it.kind is Parameter.KEYWORD_ONLY and it.name not in names]
        new = own.replace(parameters=[*first, *shown, *last])
        function.__signature__ = new  # type: ignore[attr-defined]
        return function

    return show
