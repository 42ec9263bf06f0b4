"""A37: a setting for one node wins over the setting for all nodes.

Pings are counted as they arrive. The nodes are started from property files.
"""

import asyncio
from collections import Counter
from collections.abc import Hashable

from mesh.shell.node import NodeRuntime
from mesh.wire.commands import Ping
from mesh.wire.frames import read
from tests.mesh.meshes import eventually
from tests.mesh.scenarios.property_files import LoopFromProperties, node
from tests.mesh.scenarios.topology import loop_of

QUIET = "pingInterval=60000\ntiming.silence=300\nlinks=any\n"
BILBO = (
    "pingInterval=800\npingInterval[frodo]=100\n"
    + node("frodo", "", "{frodo}")
    + node("heron", "", "{heron}")
)


def counting(node: NodeRuntime, pings: Counter[str], name: str) -> None:
    """Count the pings that reach this node."""
    receive = node.core.receive

    def counted(key: Hashable, frames: list[bytes], now: float, wall: int) -> None:
        pings[name] += isinstance(read(frames)[0], Ping)
        receive(key, frames, now, wall)

    node.core.receive = counted  # type: ignore[method-assign]


def test_A37_the_interval_of_one_node_wins_over_that_of_all() -> None:
    async def scenario() -> None:
        async with loop_of({"heron": QUIET, "frodo": QUIET, "bilbo": BILBO}, LoopFromProperties) as c:
            pings: Counter[str] = Counter()
            for name in ("heron", "frodo"):
                counting(c.nodes[name], pings, name)
            await eventually(lambda: pings["heron"] >= 4)
            # The rate is eight times as high; a busy machine may delay some pings.
            assert pings["frodo"] > 2 * pings["heron"]

    asyncio.run(scenario())
