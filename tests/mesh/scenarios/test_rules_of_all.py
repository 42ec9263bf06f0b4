"""Five real nodes adopt rules that one of them is given, soon and without losing a message."""

from __future__ import annotations

import asyncio
import json

import pytest

import mesh.sync
from mesh.client.client import Client
from tests.mesh.running import until
from tests.mesh.scenarios.hearing import hearing
from tests.mesh.scenarios.topology import Processes, processes_of

pytestmark = pytest.mark.slow

NODES = ("heron", "avalon", "bilbo", "frodo", "golan")
DOMAIN = "NEWS"


def files() -> dict[str, str]:
    """Return a file for each node with the addresses of those before it.

    The file of golan also has a rule of its own about frodo.
    """
    found = {}
    for number, name in enumerate(NODES):
        known = [f'[nodes.{other}]\naddress = "{{{other}}}"' for other in NODES[:number]]
        found[name] = "\n".join(known)
    found["golan"] += f'\n[[nodes.frodo.master]]\ndomains = ["{DOMAIN}"]\n'
    return found


def next_node(nodes: Processes, name: str) -> str:
    with mesh.sync.connect(name, environ=nodes.environ) as m:
        return str(m.route("k", domain=DOMAIN)[0]["next"] or name)


def state_of(nodes: Processes, name: str, at: str) -> str:
    with mesh.sync.connect(at, environ=nodes.environ) as m:
        return next(str(each["state"]) for each in m.call("ls")["nodes"] if each["name"] == name)


def rule(nodes: Processes, at: str, *words: str) -> None:
    """Run `mesh rule` beside the node `at`."""
    said = nodes[at].mesh("rule", *words, "--url", at)
    assert said.returncode == 0, said.stderr


def all_send_to(nodes: Processes, master: str) -> None:
    until(lambda: all(next_node(nodes, name) == master for name in NODES))


async def flowing(publisher: Client, stop: asyncio.Event) -> int:
    count = 0
    while not stop.is_set():
        said = await publisher.publish("k", b"%d" % count, domain=DOMAIN, persistent=True)
        assert (await publisher.final(said)).state == "OK"
        count += 1
        await asyncio.sleep(0.01)
    return count


@pytest.mark.smoke
def test_five_nodes_go_by_what_one_is_told_while_messages_flow() -> None:
    async def scenario(nodes: Processes) -> None:
        async with nodes.connect("bilbo") as b, nodes.connect("heron") as h, hearing(h, "k", DOMAIN) as ear:
            stop = asyncio.Event()
            flow = asyncio.create_task(flowing(b, stop))
            for at, master in (("avalon", "heron"), ("golan", "avalon"), ("bilbo", "frodo")):
                others = [name for name in ("heron", "avalon", "frodo") if name != master]
                text = "".join(f"[nodes.{name}]\nmaster = []\n" for name in others)
                path = nodes[at].state / "rules.toml"
                path.write_text(
                    f'{text}[nodes.{master}]\n[[nodes.{master}.master]]\ndomains = ["{DOMAIN}"]\n'
                )
                await asyncio.to_thread(rule, nodes, at, "set", "--file", str(path))
                await asyncio.to_thread(all_send_to, nodes, master)
            stop.set()
            sent = await flow
            await ear.heard(sent)
            assert ear.contents == [b"%d" % n for n in range(sent)]
        said = nodes["golan"].mesh("rule", "ls", "--json", "--url", "golan")
        found = {(each["node"], each["set_by"]) for each in json.loads(said.stdout)["rules"]}
        assert found >= {("frodo", "all"), ("frodo", "file, set aside"), ("heron", "all")}
        said = nodes["heron"].mesh("rule", "ls", "--url", "heron")
        assert "frodo   domains NEWS" in said.stdout and "no rule" in said.stdout
        nodes["heron"].kill()
        until(lambda: state_of(nodes, "heron", "bilbo") == "dead")
        refused = nodes["bilbo"].mesh("rule", "rm", "heron", "--url", "bilbo").stderr
        assert "NODES_AWAY" in refused and "heron" in refused and "--force" in refused
        rule(nodes, "bilbo", "rm", "heron", "avalon", "frodo", "--force")
        until(lambda: next_node(nodes, "bilbo") == "bilbo")
        assert next_node(nodes, "golan") == "frodo", "as in each file"

    with processes_of(files()) as nodes:
        asyncio.run(scenario(nodes))
