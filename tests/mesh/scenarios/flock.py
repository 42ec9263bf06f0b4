"""Three real nodes for sessions that move, and their clients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import mesh
from tests.mesh.running import RunningNode, running, until

MASTER = '[nodes.ibis]\n[[nodes.ibis.master]]\ndomains = ["NEWS"]\n'
Flock = tuple[RunningNode, RunningNode, RunningNode]


@contextmanager
def flock_in(folder: Path) -> Iterator[Flock]:
    """Run heron, stork and ibis, which know one another. ibis is the master of NEWS."""
    file = folder / "mesh.toml"
    file.write_text(MASTER)
    one = ("--config", str(file))
    with ExitStack() as stack:
        heron = stack.enter_context(running("heron", options=one))
        stork = stack.enter_context(running("stork", beside=heron, options=one))
        ibis = stack.enter_context(running("ibis", beside=heron, options=one))
        for node in (heron, stork, ibis):
            until(partial(knows_all, node))
        yield heron, stork, ibis


def knows_all(node: RunningNode) -> bool:
    return node.mesh("ls", "--url", node.name).stdout.count("alive") >= 3


def connected(node: RunningNode, *names: str, client: str, session: int | None = None) -> mesh.Client:
    return mesh.connect(*names, client=client, session=session, environ=node.environ, cluster=node.cluster)
