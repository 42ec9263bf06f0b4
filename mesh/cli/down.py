"""`mesh down`: stops a node and waits for its end."""

import os
import time
from pathlib import Path

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.options import print_message
from mesh.errors import MeshTimeout
from mesh.local.datadir import try_lock
from mesh.local.localnodes import running_nodes
from mesh.local.private import state_dir

PATIENCE, PAUSE = 10.0, 0.05  # s


@click.command("down")
@options.url
def command(url: str | None) -> None:
    """Stop a node: it finishes and answers pending writes, leaves the mesh and exits. Its data is kept.

    For a node of this user on this machine, the command waits until the node has stopped; other nodes are
    only asked to stop. Exit code 124: the node is still stopping after 10 s.
    """
    with sync.connect(url) as m:
        it = m.call("info")
        is_here = it["uuid"] in {node["uuid"] for node in running_nodes(state_dir(os.environ))}
        m.call("down")
    if not is_here:
        print_message(f"node {it['name']!r} was asked to stop; it belongs to another machine or user")
        return
    limit = time.monotonic() + PATIENCE
    while not _is_free(Path(it["data"])):
        if time.monotonic() > limit:
            raise MeshTimeout(
                f"Node '{it['name']}' (process {it['pid']}) is still stopping after {PATIENCE:g} s.",
                hint="It may be waiting for a slow disk; see its log.",
            )
        time.sleep(PAUSE)
    print_message(f"node '{it['name']}' has stopped")


def _is_free(data: Path) -> bool:
    """Return whether the node has released its data directory, which it does last."""
    try:
        lock = try_lock(data, shared=True)
    except FileNotFoundError:  # removed meanwhile
        return True
    if lock is not None:
        os.close(lock)
    return lock is not None
