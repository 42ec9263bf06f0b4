"""Finds the places where this user's nodes write snapshots, and the place of the history."""

import os
from collections.abc import Sequence
from pathlib import Path

import click

from mesh.errors import LocalError
from mesh.local.localnodes import running_nodes
from mesh.local.private import refused, state_dir
from mesh.local.segmentfiles import find

NONE = "NO_SNAPSHOTS"  # the code of the error

sources = click.option(
    "--from",
    "given",
    multiple=True,
    metavar="PLACE",
    help="Read snapshots in PLACE. Default: those of all your nodes on this machine. Can be repeated.",
)
history = click.option(
    "--to", metavar="PLACE", help="Use the history in PLACE. Default: history in your state directory."
)
master = click.option(
    "--master", metavar="URL", help="Use the Spark cluster at URL. Default: this machine alone."
)
conf = click.option(
    "--conf", multiple=True, metavar="KEY=VALUE", help="Set the Spark setting KEY to VALUE. Can be repeated."
)


def places(given: Sequence[str]) -> list[str]:
    """Return the given places, else the directories of this user's nodes that have a closed segment.

    Raises: LocalError NO_SNAPSHOTS if there is none.
    """
    found = [_whole(text) for text in given] or [str(place) for place in usual() if _has_any(place)]
    if not found:
        raise LocalError(
            "No snapshots exist yet: none of your nodes on this machine has completed a segment.",
            hint="Start a node with `mesh up`, without snapshots.enabled = false, and wait for ten seconds; "
            "or name a directory:  --from DIR",
            code=NONE,
        )
    return list(dict.fromkeys(found))


def history_place(given: str | None) -> str:
    """Return the place of the history: the given one, else a directory for all nodes of this user."""
    return _whole(given) if given else str(state_dir(os.environ) / "history")


def to_spark(**options: str | Sequence[str] | None) -> list[str]:
    """Return options as arguments: `from_=["a", "b"]` becomes --from a --from b; `None` is left out."""
    arguments = []
    for name, value in options.items():
        for text in [value] if isinstance(value, str) else value or ():
            arguments += [f"--{name.rstrip('_').replace('_', '-')}", text]
    return arguments


def _whole(place: str) -> str:
    """Return an address unchanged, and a path as an absolute path."""
    return place if "://" in place or place.startswith("file:") else str(Path(place).absolute())


def usual() -> list[Path]:
    """Return the snapshot directories of running and stopped nodes of this user."""
    state = state_dir(os.environ)
    running = running_nodes(state)
    # A node with snapshots elsewhere may have older ones in the usual place.
    found = [
        *(Path(node["snapshots"]) for node in running if node.get("snapshots")),
        *(Path(node["data"]) / "snapshots" for node in running),
        *sorted(state.glob("data/*/snapshots")),
    ]
    return [place.resolve() for place in found]


def _has_any(place: Path) -> bool:
    try:
        return bool(find(place).closed)
    except OSError as error:
        raise refused(place, error, "Choose another directory with --from DIR.") from error
