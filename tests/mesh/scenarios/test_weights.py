"""Real nodes divide their requests by the weights of a file that was applied at one of them."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.mesh.running import RunningNode, running, until
from tests.mesh.scenarios.test_balancing import READER, company, publish, shares


def written(place: Path, cluster: str, **weights: float) -> str:
    """Write a file of weights for a week, and return its path."""
    now = datetime.now(UTC)
    path = place / "weights.json"
    rows = {node: {"weight": weight, "reason": f"{node} is as it is"} for node, weight in weights.items()}
    times = {"made": now.isoformat(), "expires": (now + timedelta(days=7)).isoformat()}
    path.write_text(json.dumps({"version": 1, "cluster": cluster, **times, "weights": rows}))
    return str(path)


def in_force(at: RunningNode) -> dict[str, Any]:
    """Return the weight of each node that `mesh weights show` reports."""
    found = json.loads(at.mesh("weights", "show", "--json", "--url", at.name).stdout)
    return {node: it["weight"] for node, it in found["weights"].items()}


def test_weights_applied_at_one_node_are_shown_at_another_also_after_it_was_killed(tmp_path: Path) -> None:
    with running("heron") as heron, running("ibis", beside=heron) as ibis:
        path = written(tmp_path, heron.cluster, heron=1.5, ibis=0.5, ghost=1.0)
        said = heron.mesh("weights", "apply", path, "--url", "heron")
        assert (said.returncode, said.stdout) == (0, ""), said.stderr
        assert said.stderr.startswith("weights of 3 nodes are in force until")
        assert "unknown nodes: ghost" in said.stderr
        until(lambda: in_force(ibis) == {"heron": 1.5, "ibis": 0.5, "ghost": 1.0})
        table = ibis.mesh("weights", "show", "--url", "ibis")
        assert "ibis is as it is" in table.stdout and "applied by /node/heron/client/" in table.stdout
        ibis.kill()
        ibis.start()
        until(lambda: in_force(ibis) == {"heron": 1.5, "ibis": 0.5, "ghost": 1.0})
        assert ibis.mesh("weights", "clear", "--url", "ibis").returncode == 0
        until(lambda: in_force(heron) == {})
        events = heron.mesh("events", "--kind", "weights", "--json", "--url", "heron").stdout.splitlines()
        assert [json.loads(event)["text"].split(" by ")[0] for event in events] == [
            "the weights of 3 nodes were applied",
            "the weights were cleared",
        ]


def test_weights_of_another_mesh_are_refused_unless_that_is_meant(tmp_path: Path) -> None:
    with running("heron") as heron:
        path = written(tmp_path, "elsewhere", heron=1.5)
        said = heron.mesh("weights", "apply", path)
        assert said.returncode == 2 and "[CLUSTER]" in said.stderr and "--force" in said.stderr
        assert in_force(heron) == {}
        assert heron.mesh("weights", "apply", path, "--force").returncode == 0
        assert in_force(heron) == {"heron": 1.5}


def test_each_master_is_asked_as_often_as_its_weight_says(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with c.connect(READER) as reader:
            await publish(reader)
            assert await shares(reader) == pytest.approx({"a": 50, "b": 37.5, "c": 12.5}, abs=0.5)

    with company(tmp_path, "WeightedRoundRobin") as c:
        a = c.node("a")
        path = written(tmp_path, a.cluster, a=2.0, b=1.5, c=0.5)
        assert a.mesh("weights", "apply", path, "--url", "a").returncode == 0
        until(lambda: in_force(c.node(READER)) == {"a": 2.0, "b": 1.5, "c": 0.5})
        asyncio.run(scenario())
