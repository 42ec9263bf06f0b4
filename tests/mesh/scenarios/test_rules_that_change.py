"""Another node becomes master while messages flow, and nothing is lost or doubled."""

from __future__ import annotations

import asyncio

import pytest

from mesh.client.client import Client
from tests.mesh.meshes import eventually
from tests.mesh.running import until
from tests.mesh.scenarios.hearing import hearing
from tests.mesh.scenarios.topology import Processes, processes_of, write

pytestmark = pytest.mark.slow

NODES = ("heron", "avalon", "bilbo")
DOMAIN = "NEWS"


def file_of(name: str, master: str) -> str:
    """Return the file of a node with the addresses of those before it, and the master of the domain."""
    sections = []
    for number, other in enumerate(NODES):
        sections.append(f"[nodes.{other}]")
        if number < NODES.index(name):
            sections.append(f'address = "{{{other}}}"')
        if other == master:
            sections += [f"[[nodes.{other}.master]]", f'domains = ["{DOMAIN}"]']
    return "\n".join(sections)


def read_again(nodes: Processes, name: str, master: str) -> None:
    """Write a new file for a node, and let it read the file."""
    node = nodes[name]
    write(node.state, name, file_of(name, master), {other: nodes[other].tcp for other in NODES})
    said = node.mesh("config", "reload", "--url", name)
    assert f"new rule: {master}: domains '{DOMAIN}'" in said.stdout, said


async def next_node(client: Client) -> str:
    """Return the next hop of the client's node."""
    return str((await client.route("k", domain=DOMAIN))[0]["next"])


async def flowing(publisher: Client, stop: asyncio.Event) -> int:
    """Publish messages one after the other until `stop`, and return their number."""
    count = 0
    while not stop.is_set():
        said = await publisher.publish("k", b"%d" % count, domain=DOMAIN, persistent=True)
        assert (await publisher.final(said)).state == "OK"
        count += 1
        await asyncio.sleep(0.01)
    return count


def test_another_node_becomes_master_while_messages_flow() -> None:
    async def scenario(nodes: Processes) -> None:
        async with nodes.connect("bilbo") as b, nodes.connect("heron") as h, hearing(h, "k", DOMAIN) as ear:
            await b.publish("old", b"here before", domain=DOMAIN, persistent=True)
            stop = asyncio.Event()
            flow = asyncio.create_task(flowing(b, stop))
            for name in NODES:
                await asyncio.to_thread(read_again, nodes, name, "avalon")

            async def has_another_master() -> bool:
                return await next_node(b) == "avalon"

            await eventually(has_another_master)
            await asyncio.to_thread(until, lambda: "took over 1 retained value" in nodes["avalon"].log)
            said = await asyncio.to_thread(
                nodes["avalon"].mesh, "events", "--kind", "rules", "--url", "avalon"
            )
            assert "took over 1 retained value" in said.stdout
            stop.set()
            sent = await flow
            await ear.heard(sent)
            assert ear.contents == [b"%d" % n for n in range(sent)]
            nodes["heron"].kill()
            assert [each.content for each in await b.get("old", domain=DOMAIN)] == [b"here before"]

    with processes_of({name: file_of(name, "heron") for name in NODES}) as nodes:
        asyncio.run(scenario(nodes))
