"""Definitions that all nodes share."""

from __future__ import annotations

from mesh.features.spaces.model.definition import packed
from mesh.features.spaces.node.spaces import SPACE
from tests.mesh.features.spaces.players import NODES, Players, play


def test_law_an_older_definition_that_was_written_later_is_replaced_everywhere() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            await it.outcome(joe.map("m").put("k", 1))
            old = it.parts("ibis").spaces.find("map/m")
            await it.outcome(joe.map("m").declare(max_keys=7))
            assert old is not None
            shared = it.parts("ibis").spaces._shared
            shared.write_row(SPACE, "map/m", shared.stamp(SPACE, "map/m"), packed(old))

            def has_new(name: str) -> bool:
                row = it.parts(name).spaces._shared.get_row(SPACE, "map/m")
                assert it.parts(name).spaces.find("map/m").max_keys == 7  # type: ignore[union-attr]
                return row is not None and row.value != packed(old)

            await it.until(lambda: all(map(has_new, NODES)))
            it.m.kill("ibis")
            it.m.start("ibis")
            assert it.parts("ibis").spaces.find("map/m").max_keys == 7  # type: ignore[union-attr]

    play(scenario)
