"""Nodes of other machines are found by the names that `mesh ls` shows."""

import asyncio
import json
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

import mesh
from mesh.errors import NodeNotFound
from mesh.security.joining import join, new_mesh, token_of
from tests.mesh.running import RunningNode, _run, running, state_directory, until

LOOPBACK = ("--bind", "127.0.0.1:0")
life = contextmanager(_run)  # a node that is stopped at the end


@pytest.fixture
def two() -> Iterator[tuple[RunningNode, RunningNode]]:
    """Two nodes of one mesh on different machines: neither can read the other's files."""
    with ExitStack() as stack:
        here, there = (stack.enter_context(state_directory()) for _ in range(2))
        cluster = f"test-{secrets.token_hex(4)}"
        join(there, token_of(new_mesh(here, cluster), "node", 0), "")
        new_mesh(here, "another")  # so that there is more than one mesh to choose
        a = stack.enter_context(life(RunningNode("heron", here, cluster, LOOPBACK)))
        b = stack.enter_context(life(RunningNode("swan", there, cluster, (*LOOPBACK, "--peer", a.tcp))))
        until(lambda: '"swan"' in a.mesh("ls", "--json").stdout)
        yield a, b


@pytest.mark.slow
def test_trial_C_a_name_that_ls_shows_can_be_dialled_on_another_machine(
    two: tuple[RunningNode, RunningNode],
) -> None:
    here, there = two
    told = json.loads(here.mesh("info", "--url", "swan", "--json").stdout)
    assert (told["name"], told["pid"]) == ("swan", there.pid)
    assert here.mesh("pub", "k", "v", "--url", "swan").returncode == 0
    assert json.loads(there.mesh("get", "k", "--json").stdout)[0]["content"] == "v"
    missing = here.mesh("info", "--url", "crane")
    assert (missing.returncode, "No node named 'crane'" in missing.stderr) == (2, True)


@pytest.mark.slow
def test_trial_C_down_says_of_a_node_elsewhere_only_what_it_knows(
    two: tuple[RunningNode, RunningNode],
) -> None:
    here, there = two
    result = here.mesh("down", "--url", "swan")
    assert (result.returncode, "is down" in result.stderr) == (0, False)
    assert there.wait() == 0


@pytest.mark.slow
def test_trial_C_a_program_dials_a_name_too_and_hears_when_there_is_none() -> None:
    async def dial(name: str) -> str:
        async with mesh.connect(name, environ=a.environ, timeout=2.0) as m:
            return str((await m.call("info"))["name"])

    with running("a") as a:
        assert asyncio.run(dial("a")) == "a"
        with pytest.raises(NodeNotFound):
            asyncio.run(dial("b"))
