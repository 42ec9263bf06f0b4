"""Agreement of the blocking client with the asyncio client: the same verbs, arguments and texts."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import mesh
from mesh import sync
from mesh.client.client import Client
from tools.sync_parts.method import WORDS


def verbs(kind: type) -> dict[str, Any]:
    """Return the public names of a class, with the inherited ones."""
    return {name: inspect.getattr_static(kind, name) for name in dir(kind) if not name.startswith("_")}


def functions(kind: type) -> dict[str, Callable[..., Any]]:
    return {name: verb for name, verb in verbs(kind).items() if callable(verb)}


def arguments(function: Callable[..., Any]) -> list[tuple[str, Any, Any]]:
    """Return the name, kind and default of each argument but `self`."""
    found = list(inspect.signature(function).parameters.values())[1:]
    return [(each.name, each.kind, each.default) for each in found]


def words(verb: Any) -> str:
    text = inspect.getdoc(verb) or ""
    for asynchronous, blocking in WORDS:
        text = text.replace(asynchronous, blocking)
    return text


def test_a_client_without_a_loop_has_the_verbs_of_one_with_a_loop() -> None:
    assert verbs(Client).keys() == verbs(sync.Client).keys()


@pytest.mark.parametrize("name", [*functions(Client), "__init__"])
def test_a_verb_takes_the_same_with_a_loop_and_without(name: str) -> None:
    with_loop, without = inspect.getattr_static(Client, name), inspect.getattr_static(sync.Client, name)
    assert arguments(without) == arguments(with_loop)
    kinds = {kind for _, kind, _ in arguments(with_loop)}
    assert inspect.Parameter.VAR_KEYWORD not in kinds or name in ("call", "serve", "request", "gather")


@pytest.mark.parametrize("name", verbs(Client))
def test_a_verb_says_the_same_of_itself_with_a_loop_and_without(name: str) -> None:
    with_loop, without = verbs(Client)[name], verbs(sync.Client)[name]
    assert words(with_loop)
    if name != "close":  # a forked process closes nothing
        assert words(without) == words(with_loop)
    if callable(without):
        assert without.__name__ == name


def test_they_are_opened_with_the_same() -> None:
    with_loop, without = inspect.signature(mesh.connect), inspect.signature(sync.connect)
    assert with_loop.parameters == without.parameters
    assert "patience" in with_loop.parameters


def test_the_package_shows_what_it_exports_and_nothing_else() -> None:
    shown = {name for name in dir(mesh) if not name.startswith("_")}
    assert shown == set(mesh.__all__)
    assert all(hasattr(mesh, name) for name in mesh.__all__)
    assert {name for name in dir(sync) if not name.startswith("_")} == set(sync.__all__)
