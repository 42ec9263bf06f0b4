"""Sites in a row, each a mesh of its own: is what one publishes read in all, whoever is killed between?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

import mesh
from tests.mesh.running import RunningNode, environment, run_mesh, state_directory, until
from tests.mesh.scenarios.hearing import Ear, hearing
from tests.mesh.scenarios.test_sites import site as keys_of

pytestmark = pytest.mark.whole

STOCK = "STOCK"
ROW = ("HF", "NET1", "NET2", "NET3")


def text_of(here: str, row: Sequence[str], address: str) -> str:
    """The file of a site: it dials the one before it, and reaches those further on by its neighbours."""
    at = row.index(here)
    text = f'[site]\nname = "{here}"\nrelay = true\n'
    for number, site in enumerate(row):
        if number != at:
            via = row[at + 1] if number > at + 1 else row[at - 1] if number < at - 1 else ""
            text += f'[sites.{site}]\ndomains = ["{STOCK}"]\nserves = ["site/*"]\n'
            text += f'via = "{via}"\n' if via else ""
            text += f'addresses = ["{address}"]\n' if number == at - 1 else ""
    return text


def stop(node: RunningNode) -> None:
    if node.is_running:
        node.stop()


def sees(node: RunningNode, others: Sequence[str]) -> bool:
    return all(text in node.log for text in others)


@dataclass
class Chain:
    """The nodes of each site, the gateways first."""

    nodes: dict[str, list[RunningNode]] = field(default_factory=dict)

    def all(self) -> list[RunningNode]:
        return [node for nodes in self.nodes.values() for node in nodes]


@contextmanager
def chain(members: Mapping[str, int], gateways: int = 1) -> Iterator[Chain]:
    """So many nodes of each site, of which the first ones are gateways to both sides."""
    row, found = list(members), Chain()
    with ExitStack() as stack:
        states: dict[str, tuple[Path, str]] = {}
        for number, site in enumerate(row):
            state = stack.enter_context(state_directory())
            states[site] = state, keys_of(state)
            before = row[number - 1] if number else ""
            if before:
                token = found.nodes[before][0].mesh(
                    "token", "--role", "relay", "--site", site, "--cluster", states[before][1]
                )
                joined = run_mesh("join", "--site", before, environ=environment(state), content=token.stdout)
                assert joined.returncode == 0, (token, joined)
            made = found.nodes[site] = list[RunningNode]()
            text = text_of(site, row, found.nodes[before][0].tcp if before else "")
            for n in range(members[site]):
                name = f"{site.lower()}{n}"
                file = state / f"{name}.toml"
                file.write_text(text if n < gateways else text.replace("relay = true", "relay = false"))
                peers = [word for node in made for word in ("--peer", node.tcp)]
                on = ("--config", str(file), "--bind", "tcp://127.0.0.1:0", *peers)
                node = RunningNode(name, state, states[site][1], on)
                node.start()
                stack.callback(stop, node)
                made.append(node)
        for site in row:
            others = [f"{other} can be reached" for other in row if other != site]
            first = found.nodes[site][0]
            until(partial(sees, first, others))
        yield found
        for node in found.all():
            assert "Traceback" not in node.log, node.log


def test_D22_D24_twelve_members_of_four_sites_and_then_the_second_is_down_for_a_while() -> None:
    async def story(it: Chain) -> None:
        async with AsyncExitStack() as stack:
            users, ears = {}, dict[str, Ear]()
            for node in it.all():
                users[node.name] = await stack.enter_async_context(
                    mesh.connect(node.name, environ=node.environ)
                )
                ears[node.name] = await stack.enter_async_context(hearing(users[node.name], "quote", STOCK))
            for name, user in users.items():
                await user.publish("quote", name.encode(), domain=STOCK, persistent=True)
            for ear in ears.values():
                await ear.heard(12)
            for ear in ears.values():
                assert sorted(ear.contents) == sorted(name.encode() for name in users)
            for node in it.nodes["NET1"]:
                node.kill()
            here = [*it.nodes["HF"], *it.nodes["NET3"]]
            for node in here:
                await users[node.name].publish("quote", b"again", domain=STOCK, persistent=True)
            there = [node.name for site in ("NET2", "NET3") for node in it.nodes[site]]
            for name in (*there, *(node.name for node in it.nodes["HF"])):
                await ears[name].heard(15)
            assert all(len(ears[node.name].contents) == 15 for node in (*it.nodes["HF"], *it.nodes["NET3"]))
            for node in it.nodes["NET1"]:
                await asyncio.to_thread(node.start)
            for name in (*there, *(node.name for node in it.nodes["HF"])):
                await ears[name].heard(18)

    with chain(dict.fromkeys(ROW, 3)) as it:
        asyncio.run(story(it))


@pytest.mark.parametrize("persistent", [True, False], ids=["persistent", "transient"])
def test_gateways_of_the_site_in_the_middle_are_killed_in_turn_while_messages_flow(persistent: bool) -> None:
    async def story(it: Chain) -> None:
        first, second = it.nodes["NET1"]
        (hf,), (net2,) = it.nodes["HF"], it.nodes["NET2"]
        async with (
            mesh.connect(hf.name, environ=hf.environ) as here,
            mesh.connect(net2.name, environ=net2.environ) as there,
            hearing(there, "quote", STOCK) as ear,
        ):
            for n in range(300):
                await here.publish("quote", b"%d" % n, domain=STOCK, persistent=persistent)
                if n == 100:
                    first.kill()
                if n == 200:
                    await asyncio.to_thread(first.start)
                    second.kill()
            await ear.heard(300)
            assert ear.contents == [b"%d" % n for n in range(300)]
            assert [hop.node[:9] for hop in ear.messages[0].route][1] == "site:NET1"

    with chain({"HF": 1, "NET1": 2, "NET2": 1}, gateways=2) as it:
        asyncio.run(story(it))
