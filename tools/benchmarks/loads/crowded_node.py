"""A node that knows many absent nodes, for tools/benchmarks/measures/commands.py.

Arguments: its name, its cluster, and the number of other nodes. It prints `ready` when it knows them, and
runs until SIGTERM.
"""

import asyncio
import os
import signal
import sys
from random import Random

from mesh.config import load
from mesh.shell.starting import start
from mesh.wire.commands import Introduction


def introduced(i: int) -> Introduction:
    """Return the introduction of node `i`, with a public key and without an address."""
    return Introduction(Random(i).randbytes(16), f"node{i}", 1, "", key=Random(-i).randbytes(32))


async def main(name: str, cluster: str, count: str) -> None:
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    given: dict[str, object] = {"node.id": name, "node.cluster": cluster, "discovery.mdns": False}
    node = await start(load(None, {}, given), dict(os.environ))
    try:
        for i in range(int(count)):
            node.core.parts.neighbours.sighted(introduced(i), "gossip")
        print("ready", flush=True)
        await over.wait()
    finally:
        await node.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
