"""Real nodes say where clients, addresses and queues are, with and without a node that follows all names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mesh import sync
from mesh.errors import UnknownName
from tests.mesh.running import RunningNode, running, until


def rows(asked: RunningNode, name: str) -> list[tuple[str, str, str]]:
    """Return (name with its kind, node, reporting node) of each sighting, or nothing for an unknown name."""
    with sync.connect(asked.name, environ=asked.environ) as m:
        try:
            place = m.where(name)
        except UnknownName:
            return []
    return [(row.name, row.node, row.by) for each in (place, *place.others) for row in each.sightings]


def are_all_known(nodes: tuple[RunningNode, ...], text: str, found: list[tuple[str, str, str]]) -> bool:
    """Return whether all nodes find a name with and without its kind."""
    return all(rows(node, name) == found for node in nodes for name in (text, text.partition("/")[2]))


@pytest.mark.slow
@pytest.mark.smoke
def test_a_name_is_found_from_every_node_and_one_follows_all_names(tmp_path: Path) -> None:
    config = tmp_path / "mesh.toml"
    config.write_text("[node]\nnameservice = true\n")
    with (
        running("heron", options=("--config", str(config))) as heron,
        running("stork", beside=heron) as stork,
        running("egret", beside=heron) as egret,
    ):
        nodes = (heron, stork, egret)
        until(lambda: all(rows(node, f"node/{other.name}") for node in nodes for other in nodes))
        with sync.connect("stork", client="joe", environ=stork.environ) as joe:
            joe.queue("orders").declare()
            joe.queue("orders").put(b"1")
            with joe.serve("calc/add"):
                until(lambda: are_all_known(nodes, "client/joe", [("client/joe", "stork", "stork")]))
                until(
                    lambda: are_all_known(nodes, "address/calc/add", [("address/calc/add", "stork", "stork")])
                )
                until(lambda: are_all_known(nodes, "queue/orders", [("queue/orders", "stork", "stork")]))
                with sync.connect("heron", environ=heron.environ) as m:
                    until(lambda: m.info().metrics["names_followed"] >= 3)
            said = egret.mesh("where", "joe", "--json", "--url", "egret")
            assert json.loads(said.stdout)["nodes"] == ["stork"]
            wrong = egret.mesh("where", "jeo", "--url", "egret")
            assert wrong.returncode == 2 and "client/joe" in wrong.stderr and "UNKNOWN_NAME" in wrong.stderr
        stork.kill()
        until(lambda: rows(egret, "joe") == [] and rows(egret, "node/stork") != [])
