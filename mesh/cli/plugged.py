"""Commands of other distributions: the entry points of the group `mesh.commands`, by verb."""

from __future__ import annotations

import click

from mesh.entry_points import distribution, entries, load
from mesh.errors import FeatureFailed

GROUP = "mesh.commands"


def command_of(verb: str) -> click.Command | None:
    """Return the command that another distribution provides for the verb, or `None`.

    Raises: FeatureFailed if it cannot be loaded, or if several distributions provide one.
    """
    found = [entry for entry in entries(GROUP) if entry.name == verb]
    if not found:
        return None
    if len({entry.value for entry in found}) > 1:
        several = " and ".join(sorted(f"{entry.value} of {distribution(entry)}" for entry in found))
        raise FeatureFailed(f"The command {verb!r} is provided by {several}.", hint="Uninstall all but one.")
    return load(found[0], "command", click.Command)
