"""A client whose first node is full or dead finds another one, on real nodes."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest

import mesh
from mesh.errors import NodeNotFound, Refused
from mesh.security.joining import join, new_mesh, token_of
from tests.mesh.running import RunningNode, _run, running, state_directory, until

pytestmark = pytest.mark.slow


@pytest.fixture
def flock(tmp_path: Path) -> Iterator[tuple[RunningNode, RunningNode, RunningNode]]:
    """Three nodes that know one another. heron and stork accept one client each."""
    file = tmp_path / "mesh.toml"
    file.write_text("[node]\nmax_connections = 1\n")
    one = ("--config", str(file))
    with ExitStack() as stack:
        heron = stack.enter_context(running("heron", options=one))
        stork = stack.enter_context(running("stork", beside=heron, options=one))
        egret = stack.enter_context(running("egret", beside=heron))
        for node in (heron, stork, egret):
            until(partial(is_complete, node))
        yield heron, stork, egret


def is_complete(node: RunningNode) -> bool:
    """Return whether the node knows the load of both others, and so their room."""
    rows = json.loads(node.mesh("ls", "--url", node.name, "--json").stdout)["nodes"]
    return len(rows) == 3 and all(row["state"] == "alive" and row["load"] is not None for row in rows)


def list_of(node: RunningNode) -> Path:
    return node.state / "clients" / f"{node.cluster}.json"


def connected(node: RunningNode, *names: str, client: str) -> mesh.Client:
    return mesh.connect(*names, client=client, environ=node.environ, cluster=node.cluster)


def test_a_full_node_sends_clients_to_one_with_room_and_the_operator_comes_in(
    flock: tuple[RunningNode, RunningNode, RunningNode],
) -> None:
    heron, _, egret = flock

    async def scenario() -> None:
        async with connected(heron, "stork", client="first") as first:
            assert first.name.startswith("/node/stork/")
            async with (
                connected(heron, "heron", client="ann"),
                connected(heron, "heron", client="joe") as joe,
            ):
                assert joe.name.startswith("/node/egret/")
                await joe.publish("k", b"v")
                listed = await asyncio.to_thread(heron.mesh, "ls", "--url", "heron")
                assert listed.returncode == 0 and "heron *" in listed.stdout
                await asyncio.to_thread(egret.stop)
                await asyncio.to_thread(
                    until, lambda: "egret" not in heron.mesh("ls", "--url", "heron").stdout
                )
                with pytest.raises(Refused, match="heron has 1 connection of clients") as caught:
                    async with mesh.connect("heron", client="late", timeout=2, environ=heron.environ):
                        pass
                assert caught.value.code == "NODE_FULL" and "node.max_connections" in str(caught.value)

    asyncio.run(scenario())


def test_of_several_names_the_first_node_that_runs_is_taken(
    flock: tuple[RunningNode, RunningNode, RunningNode],
) -> None:
    heron, _, egret = flock

    async def scenario() -> None:
        async with connected(heron, "crane", "egret", "heron", client="joe") as joe:
            assert joe.name.startswith("/node/egret/")
        async with connected(heron, "tcp://127.0.0.1:1", egret.tcp, client="joe") as joe:
            assert joe.name.startswith("/node/egret/")

    asyncio.run(scenario())
    heron.kill()
    with mesh.sync.connect("heron", "stork", client="joe", environ=heron.environ) as m:
        assert m.name.startswith("/node/stork/")
        m.publish("k", b"v")


def test_a_saved_list_leads_to_a_node_when_all_named_ones_are_dead(
    flock: tuple[RunningNode, RunningNode, RunningNode],
) -> None:
    heron, stork, egret = flock

    async def scenario() -> None:
        async with connected(heron, "heron", "stork", client="joe"):
            await asyncio.to_thread(until, list_of(heron).exists)
        names = [node["name"] for node in json.loads(list_of(heron).read_bytes())]
        assert names[0] == "heron" and sorted(names) == ["egret", "heron", "stork"]
        heron.kill()
        stork.kill()
        async with connected(heron, "heron", "stork", client="joe") as joe:
            assert joe.name.startswith("/node/egret/")
            await joe.publish("k", b"v")
        with pytest.raises(NodeNotFound):  # a client that names one node goes to no other one
            async with connected(heron, "heron", client="ann"):
                pass
        egret.kill()
        with pytest.raises(NodeNotFound) as caught:
            async with connected(heron, "heron", "stork", client="joe"):
                pass
        assert caught.value.code == "NO_NODE"
        assert all(part in caught.value.what for part in ("heron: ", "stork: ", f"{egret.tcp}: "))

    asyncio.run(scenario())


def test_a_damaged_list_is_reported_and_the_client_does_without_it(
    flock: tuple[RunningNode, RunningNode, RunningNode],
) -> None:
    heron, _, _ = flock
    path = list_of(heron)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_bytes(b"[{]")

    async def scenario() -> None:
        client = connected(heron, "crane", "heron", client="joe")
        async with client as joe:
            assert joe.name.startswith("/node/heron/")
            await asyncio.to_thread(until, lambda: path.read_bytes() != b"[{]")

    asyncio.run(scenario())
    assert json.loads(path.read_bytes())[0]["name"] == "heron"


@pytest.mark.parametrize("is_keyed", [False, True])
def test_a_client_whose_nodes_are_all_dead_finds_another_one_by_multicast_dns(is_keyed: bool) -> None:
    async def scenario(egret: RunningNode, environ: dict[str, str]) -> None:
        dead = (egret.tcp.replace("127.0.0.1", "127.0.0.9"), "tcp://127.0.0.1:1")
        async with mesh.connect(*dead, client="joe", environ=environ, cluster=egret.cluster) as joe:
            assert joe.name.startswith("/node/egret/client/joe/")
            await joe.publish("k", b"v")
        for path in egret.state.glob("clients/*.json"):
            path.unlink()
        egret.kill()
        with pytest.raises(NodeNotFound) as caught:
            async with mesh.connect(*dead, client="joe", environ=environ, cluster=egret.cluster):
                pass
        assert caught.value.code == "NO_NODE" and all(each in caught.value.what for each in dead)

    with state_directory() as here, state_directory() as there:
        cluster = f"test-{secrets.token_hex(4)}"
        if is_keyed:  # the client cannot check the announcement
            join(there, token_of(new_mesh(here, cluster), "client", 0), "")
        with life(RunningNode("egret", here, cluster, (*LOOPBACK, "--mdns"))) as egret:
            environ = {**egret.environ, "MESH_STATE_DIR": str(there if is_keyed else here)}
            del environ["MESH_DISCOVERY__MDNS"]
            asyncio.run(scenario(egret, environ))


LOOPBACK = ("--bind", "127.0.0.1:0")
life = contextmanager(_run)  # a node that is stopped at the end


def test_in_a_mesh_with_keys_a_full_node_sends_clients_to_another_machine(tmp_path: Path) -> None:
    file = tmp_path / "mesh.toml"
    file.write_text("[node]\nmax_connections = 1\n")
    with ExitStack() as stack:
        here, there = (stack.enter_context(state_directory()) for _ in range(2))
        cluster = f"test-{secrets.token_hex(4)}"
        join(there, token_of(new_mesh(here, cluster), "node", 0), "")
        new_mesh(here, "another")  # whose keys do not fit
        one = (*LOOPBACK, "--config", str(file))
        heron = stack.enter_context(life(RunningNode("heron", here, cluster, one)))
        swan = stack.enter_context(
            life(RunningNode("swan", there, cluster, (*LOOPBACK, "--peer", heron.tcp)))
        )
        until(lambda: '"swan"' in heron.mesh("ls", "--json").stdout)
        with (
            mesh.sync.connect("heron", client="ann", environ=heron.environ),
            mesh.sync.connect("heron", client="joe", environ=heron.environ) as joe,
        ):
            assert joe.name.startswith("/node/swan/client/joe/") and joe.cluster == cluster
            joe.publish("k", b"v")
        assert json.loads(swan.mesh("get", "k", "--json").stdout)[0]["content"] == "v"
