"""`mesh why map`: the home, its leash and its voters."""

from __future__ import annotations

from typing import Any

from mesh.flow.leash import LEASH, SILENCE
from tests.mesh.features.spaces.players import Players, play


async def codes(it: Players, client: Any, kind: str = "map", name: str = "m") -> set[tuple[str, str]]:
    return {(each.node, each.code) for each in await it.outcome(client.why(kind, name))}


def test_each_node_reports_what_it_knows_of_a_map() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann:
            assert await codes(it, joe) == {("heron", "SPACE_UNKNOWN")}
            await it.outcome(joe.map("m").put("k", 1))
            await it.outcome(joe.counter("n").add(1))
            assert await codes(it, ann, "counter", "default") >= {("heron", "SPACE_HOME")}
            await it.m.pass_time(3)
            well = {("heron", "SPACE_HOME"), ("stork", "SPACE_VOTER"), ("ibis", "SPACE_VOTER")}
            assert await codes(it, ann) == {*well, ("stork", "SPACE_KNOWN")}
            for other in ("stork", "ibis"):
                it.m.cut("heron", other)
            await it.m.pass_time(SILENCE + 2)
            found = await codes(it, ann)
            assert found >= {
                ("stork", "SPACE_HOME_AWAY"), ("stork", "SPACE_SILENT"), ("ibis", "SPACE_SILENT"),
            }  # fmt: skip
            assert await codes(it, joe) >= {("heron", "SPACE_STOPPED"), ("heron", "SPACE_HOME")}
            assert LEASH < SILENCE

    play(scenario)
