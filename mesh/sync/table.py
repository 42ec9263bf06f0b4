"""Decorators that make blocking calls from asynchronous ones, with the same arguments and docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from mesh.client import subscription
from mesh.client.like import like
from mesh.client.message import T as M
from mesh.sync.subscription import Subscription

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def _here(
    model: Callable[..., Any], method: Callable[..., Any], place: Callable[..., Any]
) -> Callable[..., Any]:
    """Give `method` the name, signature and docstring of `model`. `place` is the method that it replaces."""
    owner = place.__qualname__.rpartition(".")[0]
    method.__name__, method.__qualname__ = model.__name__, f"{owner}.{model.__name__}"
    method.__doc__ = _words(model)
    return like(model)(method)


def _words(model: Callable[..., Any]) -> str:
    words = model.__doc__ or ""
    for asynchronous, blocking in (("async with", "with"), ("async for", "for"), ("await ", "")):
        words = words.replace(asynchronous, blocking)
    return words


def waited(
    model: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[[Callable[..., Any]], Callable[Concatenate[Any, P], T]]:
    """Return a decorator that replaces a method by a blocking call of `model`, after earlier posts."""

    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not has_limit:
            return self._run(None, lambda: work(self._aio, *args, **kwargs))
        left = self._left(kwargs.pop("timeout", default))
        return self._run(left(), lambda: work(self._aio, *args, **kwargs, timeout=left()))

    work: Callable[..., Coroutine[Any, Any, Any]] = model
    parameters = inspect.signature(model).parameters
    has_limit = "timeout" in parameters
    default = parameters["timeout"].default if has_limit else None
    return lambda place: _here(model, call, place)


def read(
    model: Callable[Concatenate[Any, P], subscription.Subscription[M]],
) -> Callable[[Callable[..., Any]], Callable[Concatenate[Any, P], Subscription[M]]]:
    """Return a decorator that replaces a method by `model`, whose result is read without an event loop."""

    def made(self: Any, /, *args: Any, **kwargs: Any) -> Subscription[Any]:
        work: Callable[..., subscription.Subscription[Any]] = model
        return Subscription(self, self._thread, work(self._aio, *args, **kwargs))

    return lambda place: _here(model, made, place)


def same(
    model: Callable[Concatenate[Any, P], Any],
) -> Callable[[Callable[..., T]], Callable[Concatenate[Any, P], T]]:
    """Return a decorator that gives a method the name, signature and docstring of `model`."""
    return lambda method: _here(model, method, method)


def one_of(model: Callable[..., Any]) -> Callable[[F], F]:
    """Return a decorator like `same` that keeps the type annotations of the method, for type checkers."""

    def told(method: F) -> F:
        return cast(F, _here(model, method, method))

    return told


def worded(model: Callable[..., Any]) -> Callable[[F], F]:
    """Return a decorator that gives a method the docstring of `model`, but keeps its own signature."""

    def told(method: F) -> F:
        method.__doc__ = _words(model)
        return method

    return told
