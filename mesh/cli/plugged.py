"""Commands of other distributions: the entry points of the group `mesh.commands`, by verb."""

from __future__ import annotations

import click

from mesh.entry_points import named

GROUP = "mesh.commands"


def command_of(verb: str) -> click.Command | None:
    """Return the command that another distribution provides for the verb, or `None`.

    Raises: FeatureFailed if it cannot be loaded, or if several distributions provide one.
    """
    return named(GROUP, verb, "command", click.Command)
