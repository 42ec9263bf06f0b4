"""Other sites, as nodes see, report and count them."""

from __future__ import annotations

import re

from mesh.client.client import Client
from tests.mesh.meshes import eventually
from tests.mesh.running import RunningNode


def told(node: RunningNode, site: str) -> list[str]:
    """Return the kinds of the node's reports about another site, in order."""
    return re.findall(rf" site-(\w+): site {site} ", node.log)


async def becomes(client: Client, site: str, state: str, nodes: list[RunningNode]) -> None:
    """Wait until the client's node sees that site in this state, with exactly these nodes."""
    wanted = state, sorted(node.name for node in nodes)

    async def is_so() -> bool:
        return await seen(client, site) == wanted

    await eventually(is_so)


async def seen(client: Client, site: str) -> tuple[str, list[str]]:
    row = (await client.views()).remote[site]
    return row.state, sorted(row.nodes)


async def metric(client: Client, name: str) -> int:
    return int((await client.info()).metrics[name])


async def counts(client: Client, name: str, number: int) -> None:
    """Wait until a metric of the client's node has this value."""

    async def is_so() -> bool:
        return await metric(client, name) == number

    await eventually(is_so)
