"""Addresses of nodes that the admin sets for the whole mesh, on processes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.mesh.running import RunningNode, state_directory, until
from tests.mesh.scenarios.topology import Processes

pytestmark = pytest.mark.slow

AT = (
    "<clusternode id='stork'><connect><qos><address type='SOCKET'>{at}</address></qos></connect>"
    "</clusternode>"
)


def alive(node: RunningNode) -> set[str]:
    told = json.loads(node.mesh("ls", "--json", "--url", node.name).stdout)
    return {each["name"] for each in told["nodes"] if each["state"] == "alive"}


def kinds(node: RunningNode) -> dict[str, str]:
    told = json.loads(node.mesh("peer", "ls", "--json", "--url", node.name).stdout)
    return {each["address"]: each["kind"] for each in told["peers"]}


@contextmanager
def apart(nodes: Processes) -> Iterator[tuple[RunningNode, RunningNode]]:
    """Run two nodes of one mesh, of which neither has the address of the other."""
    try:
        yield nodes.start("heron", ""), nodes.start("stork", "")
    finally:
        nodes.end()


def test_a_node_is_dialed_where_the_admin_says_also_after_kill_9(tmp_path: Path) -> None:
    with state_directory() as state, apart(Processes(state)) as (heron, stork):
        assert alive(heron) == {"heron"}, "nothing names the other one"
        (tmp_path / "stork.xml").write_text(AT.format(at=stork.tcp.removeprefix("tcp://")))
        key = "__sys__cluster.node.info[stork]"
        said = heron.mesh("pub", key, "--file", str(tmp_path / "stork.xml"), "--url", "heron")
        assert said.returncode == 0 and "the addresses of stork; the other nodes follow" in said.stderr
        until(lambda: alive(heron) == alive(stork) == {"heron", "stork"})
        assert kinds(heron)[stork.tcp] == "mesh"
        heron.kill()
        heron.start()
        until(lambda: alive(heron) == {"heron", "stork"} and kinds(heron)[stork.tcp] == "mesh")
        until(lambda: stork.tcp in heron.mesh("get", key, "--url", "stork").stdout.replace("socket", "tcp"))
        assert heron.mesh("erase", key, "--url", "heron").returncode == 0
        until(lambda: kinds(heron).get(stork.tcp) != "mesh")
