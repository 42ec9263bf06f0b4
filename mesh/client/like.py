"""Decorators that show the arguments of a call by name, although they are declared once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from inspect import Parameter
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def shows_options(model: Callable[..., Any]) -> Callable[[F], F]:
    """Return a decorator for a function with `**options`.

    `help()` shows the keyword arguments of `model` and their defaults in place of `**options`.
    """
    shown = [it for it in inspect.signature(model).parameters.values() if it.kind is Parameter.KEYWORD_ONLY]

    def show(function: F) -> F:
        own = inspect.signature(function)
        at = [it for it in own.parameters.values() if it.kind is not Parameter.VAR_KEYWORD]
        first = [it for it in at if it.kind is not Parameter.KEYWORD_ONLY]
        last = [it for it in at if it.kind is Parameter.KEYWORD_ONLY]
        new = own.replace(parameters=[*first, *shown, *last])
        function.__signature__ = new  # type: ignore[attr-defined]
        return function

    return show


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
