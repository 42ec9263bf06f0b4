"""How does a verb of the asynchronous client become one that waits? With the same arguments and words."""

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
    """The method, with the name and the words of the asynchronous one. `place`: what stands in its place."""
    owner = place.__qualname__.rpartition(".")[0]
    method.__name__, method.__qualname__ = model.__name__, f"{owner}.{model.__name__}"
    method.__doc__ = _words(model)
    return like(model)(method)


def _words(model: Callable[..., Any]) -> str:
    return (model.__doc__ or "").replace("async with", "with").replace("async for", "for")


def waited(
    model: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[[Callable[..., Any]], Callable[Concatenate[Any, P], T]]:
    """In place of a method: that one, waited for."""

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
    """In place of a method: what that one gives, read without a loop."""

    def made(self: Any, /, *args: Any, **kwargs: Any) -> Subscription[Any]:
        work: Callable[..., subscription.Subscription[Any]] = model
        return Subscription(self, self._thread, work(self._aio, *args, **kwargs))

    return lambda place: _here(model, made, place)


def same(
    model: Callable[Concatenate[Any, P], Any],
) -> Callable[[Callable[..., T]], Callable[Concatenate[Any, P], T]]:
    """A method that does here what that one does there."""
    return lambda method: _here(model, method, method)


def one_of(model: Callable[..., Any]) -> Callable[[F], F]:
    """A method that does here what that one does there; with what type is said where it stands."""

    def told(method: F) -> F:
        return cast(F, _here(model, method, method))

    return told


def worded(model: Callable[..., Any]) -> Callable[[F], F]:
    """A method with the words of that one, but with what there is here instead of there."""

    def told(method: F) -> F:
        method.__doc__ = _words(model)
        return method

    return told
