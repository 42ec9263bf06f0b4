"""Commands of other distributions: the entry points of the group `mesh.commands`, by verb."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from mesh.errors import FeatureFailed

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "mesh.commands"


def command_of(verb: str) -> click.Command | None:
    """Return the command that another distribution has for the verb, or `None`.

    Raises: FeatureFailed if it cannot be loaded, or if several distributions have one.
    """
    found = [entry for entry in _others() if entry.name == verb]
    if not found:
        return None
    if len({entry.value for entry in found}) > 1:
        several = " and ".join(sorted(map(_where, found)))
        raise FeatureFailed(f"The command {verb!r} is in {several}.", hint="Uninstall one of them.")
    hint = "Uninstall or update that package."
    try:
        command = found[0].load()
    except Exception as error:
        what = f"The command {verb!r} ({_where(found[0])}) cannot be loaded: {type(error).__name__}: {error}."
        raise FeatureFailed(what, hint=hint) from error
    if not isinstance(command, click.Command):
        what = (
            f"The command {verb!r} ({_where(found[0])}) is a {type(command).__name__}, not a click.Command."
        )
        raise FeatureFailed(what, hint=hint)
    return command


def _others() -> Iterable[EntryPoint]:
    from importlib.metadata import entry_points  # slow to load

    return entry_points(group=GROUP)


def _where(entry: EntryPoint) -> str:
    return f"{entry.value} of {entry.dist.name if entry.dist else 'an unknown distribution'}"
