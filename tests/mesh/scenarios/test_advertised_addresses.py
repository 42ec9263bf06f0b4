"""Machines on a LAN check each other's advertised addresses: hints, a firewall, and a wrong address."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.mesh.scenarios.lan import LIMIT, Lan, LanNode, eventually, lan_of

ABSENT, ABSENT_TOO = "10.99.0.77", "10.99.0.78"  # no machine of the LAN
OUTSIDE = "10.77.0.5"  # an address behind a router


async def info(node: LanNode) -> dict[str, Any]:
    async with node.connect() as m:
        found: dict[str, Any] = await m.call("info")
    return found


async def becomes(node: LanNode, reachable: str) -> dict[str, Any]:
    """Wait until the node knows whether its address is reachable, and return its info."""
    found: dict[str, Any] = {}

    async def is_so() -> bool:
        nonlocal found
        found = await info(node)
        return bool(found["reachable"] == reachable)

    await eventually(is_so)
    return found


async def texts(node: LanNode, kind: str) -> list[str]:
    async with node.connect() as m:
        return [event["text"] for event in (await m.call("events"))["events"] if event["kind"] == kind]


async def restarted(lan: Lan, host: int, **environ: str) -> dict[str, Any]:
    """Start a node again with further variables, and return its info."""
    lan.nodes[host].stop()
    lan.nodes[host].environ.update(environ)
    await lan.start(host)
    return await info(lan.nodes[host])


def test_E25_the_users_host_wins_over_the_public_hint_which_wins_over_the_host_hint() -> None:
    async def scenario() -> None:
        async with lan_of(2) as lan:
            n2, own = lan.nodes[2], lan.nodes[2].address
            file = Path(n2.environ["XDG_CONFIG_HOME"]) / "mesh" / "mesh.toml"
            await lan.start(1, 2)
            assert (await info(n2))["address"] == own
            await becomes(n2, "yes")

            file.parent.mkdir(exist_ok=True)
            file.write_text(f'[nodes.n2]\naddress = "tcp://{ABSENT}:7710"\n')
            assert (await restarted(lan, 2))["address"] == f"tcp://{ABSENT}:7710"
            found = await restarted(lan, 2, MESH_PUBLIC_HOST=ABSENT_TOO)
            assert found["address"] == f"tcp://{ABSENT_TOO}:7710"
            # A wrong hint does not hide the node: its interfaces follow, and n1 uses them.
            await lan.all_alive()

            host = own.removeprefix("tcp://").partition(":")[0]
            assert (await restarted(lan, 2, MESH_NODE__ADVERTISE=host))["address"] == own
            assert (await becomes(n2, "yes"))["reachability"] == "dialed by n1"
            assert await texts(n2, "unreachable") == []

    asyncio.run(scenario())


@pytest.mark.smoke
def test_a_node_behind_a_router_that_drops_packets_learns_that_others_cannot_dial_it() -> None:
    async def scenario() -> None:
        async with lan_of(3) as lan:
            n1, n2 = lan.nodes[1], lan.nodes[2]
            # The third machine is the router. It has no node, and drops packets for that address.
            lan.lab.output(3, ["ip", "route", "add", "blackhole", OUTSIDE])
            lan.lab.output(1, ["ip", "route", "add", OUTSIDE, "via", lan.lab.address(3)])
            n2.environ["MESH_NODE__ADVERTISE"] = OUTSIDE
            n2.environ["MESH_NODE__PEERS"] = n1.address
            await lan.start(1, 2)
            found = await becomes(n2, "no")
            text = (
                f"n1 could not dial tcp://{OUTSIDE}:7710: no answer, so a firewall probably drops the packets"
            )
            hint = "Open TCP port 7710 in the firewall, or set node.advertise to another address."
            assert found["reachability"] == text
            assert await texts(n2, "unreachable") == [f"{text}. {hint}"]
            async with n2.connect() as m:
                reasons = [reason for reason in await m.why("node", "n2") if reason.code == "UNREACHABLE"]
            assert [(reason.node, reason.hint) for reason in reasons] == [("n2", hint)]
            assert (await becomes(n1, "yes"))["reachability"] == "dialed by n2"
            async with n1.connect() as m, n2.connect() as other:  # n2 has dialed, so they are linked
                async with other.subscribe("news") as news:
                    await m.publish("news", b"it")
                    async with asyncio.timeout(LIMIT):
                        assert (await anext(aiter(news))).content == b"it"

    asyncio.run(scenario())


def test_an_advertised_address_of_another_machine_is_found_out() -> None:
    async def scenario() -> None:
        async with lan_of(3) as lan:
            n3 = lan.nodes[3]
            n3.environ["MESH_NODE__ADVERTISE"] = lan.nodes[1].address  # where n1 answers
            await lan.start(1, 2, 3)
            await eventually(lambda: "n3" in lan.nodes[2].joined)
            found = await becomes(n3, "no")
            assert "another process answered there" in found["reachability"]

    asyncio.run(scenario())


def test_a_loopback_node_warns_when_another_machine_links_to_it() -> None:
    async def scenario() -> None:
        async with lan_of(2) as lan:
            n1, n2 = lan.nodes[1], lan.nodes[2]
            n2.environ["MESH_NODE__BIND"] = "127.0.0.1:7710"
            n2.environ["MESH_NODE__PEERS"] = n1.address
            await lan.start(1, 2)
            found = await becomes(n2, "no")
            assert found["reachability"] == (
                "n1 is on another machine, but tcp://127.0.0.1:7710 leads back to the machine that dials"
            )
            [event] = await texts(n2, "unreachable")
            assert event.endswith("Listen on tcp://*:7710, or set node.advertise.")

    asyncio.run(scenario())
