"""Waiting messages after kill -9 of processes, as the command line shows them."""

import asyncio
import json

import pytest

from tests.mesh.scenarios.hearing import hearing, nothing_more
from tests.mesh.scenarios.topology import RUGBY, Processes, a0, processes_of

LINES = "".join(f"{number}\n" for number in range(20))
WORDS = [b"%d" % number for number in range(20)]


def test_what_waits_survives_kill_9_of_the_node_where_it_waits_and_of_the_way() -> None:
    async def scenario(c: Processes) -> None:
        bilbo, frodo = c["bilbo"], c["frodo"]
        async with c.connect("heron") as h, hearing(h, "K", RUGBY) as ear:
            frodo.kill()
            said = await typed(c, "pub", "K", "--domain", RUGBY, "--persistent", content=LINES)
            assert said.startswith("published 20 lines to K, 20 of them wait: waits at bilbo for frodo")
            queue = await waiting(c)
            assert (queue["messages"], queue["age"] > 0) == (20, True)
            assert "TAIL-BACK" in (table := bilbo.mesh("ls", "--url", "bilbo").stdout) and " 20, " in table

            bilbo.kill()
            await asyncio.to_thread(bilbo.start)
            later = await waiting(c)
            assert later["messages"] == 20 and later["age"] > queue["age"]
            route = bilbo.mesh("route", "K", "--domain", RUGBY, "--url", "bilbo")
            assert (route.returncode, "wait for frodo" in route.stdout) == (1, True)
            assert ear.messages == []

            await asyncio.to_thread(frodo.start)
            await ear.heard(20)
            async with c.connect("bilbo") as b:
                await nothing_more(b, ear, domain=RUGBY)
            assert ear.contents == WORDS
            assert {tuple(hop.node for hop in m.route) for m in ear.messages} == {("bilbo", "frodo", "heron")}
            assert (await waiting(c))["messages"] == 0
            assert "TAIL-BACK" not in bilbo.mesh("ls", "--url", "bilbo").stdout
            route = bilbo.mesh("route", "K", "--domain", RUGBY, "--from", "frodo", "--url", "bilbo")
            assert (route.returncode, route.stdout.split()[0]) == (0, "frodo")
            assert "DOMAIN RUGBY_NEWS, stratum 0: master" in route.stdout

    with processes_of(a0("heron", "frodo", "bilbo")) as c:
        asyncio.run(scenario(c))


@pytest.mark.smoke
def test_the_final_state_is_heard_over_kill_9_of_the_node_the_way_and_the_master() -> None:
    async def scenario(c: Processes) -> None:
        async with c.connect("bilbo") as b:
            for name in ("heron", "frodo"):
                c[name].kill()
            published = await asyncio.gather(
                *(b.publish("K", word, domain=RUGBY, persistent=True) for word in WORDS)
            )
            assert {each.state for each in published} == {"FORWARD_WARNING"}
            c["bilbo"].kill()
            for name in ("bilbo", "frodo", "heron"):
                await asyncio.to_thread(c[name].start)
            finals = [await b.final(each) for each in published]
            assert [(each.state, each.id) for each in finals] == [("OK", each.id) for each in published]
        async with c.connect("heron") as h:
            assert (await h.call("info"))["metrics"]["published"] == len(WORDS)
            assert [m.content for m in await h.get("K")] == WORDS[-1:]

    with processes_of(a0("heron", "frodo", "bilbo")) as c:
        asyncio.run(scenario(c))


@pytest.mark.smoke
def test_a_subscriber_behind_a_way_that_was_killed_gets_what_the_master_took_meanwhile() -> None:
    async def scenario(c: Processes) -> None:
        async with c.connect("bilbo") as b, c.connect("heron") as h, hearing(b, "K", RUGBY) as ear:
            for name in ("frodo", "bilbo"):
                c[name].kill()
                for word in WORDS[:5]:
                    await h.publish("K", name.encode() + word, domain=RUGBY, persistent=True)
                await asyncio.to_thread(c[name].start)
                await h.publish("K", name.encode() + b"end", domain=RUGBY, persistent=True)
            expected = [name + word for name in (b"frodo", b"bilbo") for word in (*WORDS[:5], b"end")]
            await ear.heard(len(expected))
            await nothing_more(h, ear, domain=RUGBY)
            assert ear.contents == expected

    with processes_of(a0("heron", "frodo", "bilbo")) as c:
        asyncio.run(scenario(c))


async def typed(c: Processes, *arguments: str, content: str = "") -> str:
    """Return the output of a command beside bilbo."""
    result = await asyncio.to_thread(c["bilbo"].mesh, *arguments, "--url", "bilbo", content=content)
    assert result.returncode == 0, result.stderr
    return result.stderr if content else result.stdout


async def waiting(c: Processes) -> dict[str, float]:
    """Return the figures of the outbound buffer at bilbo for frodo, as `mesh ls` reports them.

    bilbo may not have met frodo since its start.
    """
    found = json.loads(await typed(c, "ls", "--json"))
    queues = {row["name"]: row["tailback"] for row in found["nodes"]}
    return dict(queues.get("frodo") or found["unknown"])
