"""What do nodes see and tell of other sites, and what do they count?"""

from __future__ import annotations

import re

from mesh.client.client import Client
from tests.mesh.meshes import eventually
from tests.mesh.running import RunningNode


def told(node: RunningNode, site: str) -> list[str]:
    """What it told of another site, in order."""
    return re.findall(rf" site-(\w+): the site {site} ", node.log)


async def becomes(client: Client, site: str, state: str, nodes: list[RunningNode]) -> None:
    """Until its node sees that site so, and just these there."""
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
    """Until its node has so many of these."""

    async def is_so() -> bool:
        return await metric(client, name) == number

    await eventually(is_so)
