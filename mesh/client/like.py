"""Decorators that give a function the signature of a method, so that arguments are declared once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def like(
    model: Callable[Concatenate[Any, P], Any],
) -> Callable[[Callable[..., T]], Callable[Concatenate[Any, P], T]]:
    """Return a decorator for a method with the arguments of the method `model`."""
    return lambda method: _signed(method, list(inspect.signature(model).parameters.values()))


def making(model: Callable[Concatenate[Any, P], Any]) -> Callable[[Callable[..., T]], Callable[P, T]]:
    return lambda function: _signed(function, list(inspect.signature(model).parameters.values())[1:])


def _signed(function: Callable[..., T], parameters: list[inspect.Parameter]) -> Callable[..., T]:
    """Set the parameters that `help()` shows for `function`; its return type stays."""
    own = inspect.signature(function)
    function.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return function
