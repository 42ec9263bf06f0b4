"""The memory that a node holds for unfinished messages, and the events about them."""

import asyncio

from mesh.client.client import Client
from mesh.transport.guard import Allowance
from mesh.transport.unfinished import CLIENT, NODE
from tests.mesh.meshes import eventually, mesh_of
from tests.mesh.transport.test_watch import line_to, linux, poured

MIB = 1024 * 1024


@linux
def test_trial_A3_a_stranger_is_named_in_the_events_and_a_client_goes_on() -> None:
    async def scenario() -> None:
        async with mesh_of("a") as m, m.connect("a") as client:
            for _ in range(3):
                with line_to(m.nodes["a"].world.bound.tcp[0]) as line:
                    await poured(line, 500 * MIB)

            async def lines() -> list[str]:
                return [e["text"] for e in (await client.call("events"))["events"] if e["kind"] == "refused"]

            async def is_told(text: str) -> bool:
                return text in await lines()

            why = "more than 16 KiB without a whole message, before HELLO"
            text = f"a connection from 127.0.0.1 was closed: {why}"
            await eventually(lambda: bool(m.nodes["a"].core.parts.context.events._ring))
            await eventually(lambda: is_told(text))
            assert (await lines()).count(text) == 1, "once in a minute, and not for each connection"
            assert (await client.publish("k", b"v")).matched == 0

    asyncio.run(scenario())


def test_trial_A3_what_is_set_is_what_holds() -> None:
    limits = {
        "max_content": 7,
        "strangers": 3,
        "connections": 11,
        "address_connections": 12,
        "key_connections": 13,
        "sessions": 14,
        "key_sessions": 15,
        "subscriptions": 16,
        "session_subscriptions": 17,
    }

    async def scenario() -> None:
        async with mesh_of("a", settings={f"limits.{name}": most for name, most in limits.items()}) as m:
            node = m.nodes["a"]
            assert node.world.sockets._watch._guard._allowance == Allowance(
                max_content=7, connections=11, strangers=3, of_address=12, of_key=13
            )
            core = node.core.parts.context.settings
            assert (core.max_sessions, core.max_key_sessions) == (14, 15)
            assert (core.max_all_subscriptions, core.max_subscriptions) == (16, 17)
            lines = [line_to(node.world.bound.tcp[0]) for _ in range(3)]
            await eventually(lambda: len(node.world.sockets._watch._lines) == 3)
            lines += [line_to(node.world.bound.tcp[0]) for _ in range(3)]
            await eventually(lambda: len(node.world.sockets._watch._lines) == 3)
            for line in lines:
                line.close()

    asyncio.run(scenario())


def test_trial_A3_nodes_and_clients_have_each_their_own_measure() -> None:
    async def scenario() -> None:
        async with mesh_of("a", "b") as m:
            guests = [node.world.sockets._watch._guard._guests for node in m.nodes.values()]

            def roles() -> set[str]:
                return {guest.role for each in guests for guest in each.values()}

            await eventually(lambda: roles() == {NODE})
            client = Client(m.nodes["a"].world.bound.tcp[0], environ=m.environ)
            async with client:
                await eventually(lambda: roles() == {NODE, CLIENT})
                assert sum(guest.role == CLIENT for each in guests for guest in each.values()) == 1

    asyncio.run(scenario())
