"""Three real nodes under load are drained and restarted one by one, and no client sees an error."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

import mesh
from tests.mesh.running import RunningNode, running, until
from tools.benchmarks.loads.rolling_load import RollingLoad

pytestmark = pytest.mark.slow
MASTER = '[nodes.ibis]\n[[nodes.ibis.master]]\ndomains = ["NEWS"]\n'
NAMES = ("heron", "stork", "ibis")


@pytest.fixture
def flock(tmp_path: Path) -> Iterator[dict[str, RunningNode]]:
    """Three nodes that know one another. ibis is the master of NEWS."""
    file = tmp_path / "mesh.toml"
    file.write_text(MASTER)
    one = ("--config", str(file))
    with ExitStack() as stack:
        heron = stack.enter_context(running("heron", options=one))
        others = [stack.enter_context(running(name, beside=heron, options=one)) for name in NAMES[1:]]
        nodes = {node.name: node for node in (heron, *others)}
        for node in nodes.values():
            until(partial(knows_all, node))
        yield nodes


def knows_all(node: RunningNode) -> bool:
    return node.mesh("ls", "--url", node.name).stdout.count("alive") >= len(NAMES)


def restarted(node: RunningNode) -> str:
    """Drain a node, stop it when it is empty, start it again, and return what the drain printed."""
    down = f"{sys.executable} -m mesh down --url {node.name}"
    said = node.mesh("drain", "--url", node.name, "--clients", "--wait", "120", "--then", down)
    assert said.returncode == 0, said.stdout + said.stderr
    node.wait()
    node.start()
    until(partial(knows_all, node))
    return said.stderr


def test_no_client_sees_an_error_while_all_nodes_are_restarted_one_by_one(
    flock: dict[str, RunningNode],
) -> None:
    heron = flock["heron"]

    def connect(node: str, client: str) -> mesh.Client:
        return mesh.connect(node, client=client, environ=heron.environ, cluster=heron.cluster)

    async def scenario() -> None:
        load = RollingLoad(connect, NAMES)
        async with load.at_work() as outcome:
            await asyncio.sleep(1)
            for name, node in flock.items():
                begun = time.monotonic()
                said = await asyncio.to_thread(restarted, node)
                print(f"{name}: drained and restarted in {time.monotonic() - begun:.1f} s")
                assert f"{name} is empty" in said
            await asyncio.sleep(1)
        published = sum(outcome.published.values())
        print(f"{published} messages, {outcome.put} jobs, {outcome.replies} replies, longest: ", end="")
        print({kind: f"{seconds:.2f} s" for kind, seconds in outcome.longest.items()})
        assert outcome.flaws() == []

    asyncio.run(scenario())
