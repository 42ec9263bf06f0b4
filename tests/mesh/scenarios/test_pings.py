"""A37: does a setting for one node win over the setting for all? Pings are counted as they arrive."""

import asyncio
from collections import Counter
from collections.abc import Hashable

from mesh.shell.node import NodeRuntime
from mesh.wire.commands import Ping
from mesh.wire.frames import read
from tests.mesh.meshes import eventually
from tests.mesh.scenarios.topology import loop_of

QUIET = "[timing]\nping = 60.0\nsilence = 300.0\n"
BILBO = """
[timing]
ping = 0.8

[nodes.frodo]
address = "{frodo}"
ping = 0.1

[nodes.heron]
address = "{heron}"
"""


def counting(node: NodeRuntime, pings: Counter[str], name: str) -> None:
    """Count the pings that reach this node."""
    receive = node.core.receive

    def counted(key: Hashable, frames: list[bytes], now: float, wall: int) -> None:
        pings[name] += isinstance(read(frames)[0], Ping)
        receive(key, frames, now, wall)

    node.core.receive = counted  # type: ignore[method-assign]


def test_A37_the_interval_of_one_node_wins_over_that_of_all() -> None:
    async def story() -> None:
        async with loop_of({"heron": QUIET, "frodo": QUIET, "bilbo": BILBO}) as c:
            pings: Counter[str] = Counter()
            for name in ("heron", "frodo"):
                counting(c.nodes[name], pings, name)
            await eventually(lambda: pings["heron"] >= 4)
            # Eight times as often; a busy machine may be late with some.
            assert pings["frodo"] > 2 * pings["heron"]

    asyncio.run(story())
