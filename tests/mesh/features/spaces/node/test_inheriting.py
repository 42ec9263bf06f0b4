"""A lost home: only spaces without values get another one by themselves."""

from __future__ import annotations

import pytest

from mesh.features.spaces.node import inheriting
from mesh.flow.leash import LEASH, SILENCE
from tests.mesh.features.spaces.players import Players, play


@pytest.fixture(autouse=True)
def kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inheriting, "WITHOUT_VALUES", ("counter",))


@pytest.mark.parametrize("is_cut", [True, False])
def test_a_space_without_values_gets_another_home_after_the_leash_of_the_lost_one(is_cut: bool) -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann:
            await it.outcome(joe.counter("n").add(1))
            await it.outcome(joe.map("m").put("k", 1))
            if is_cut:
                for other in ("stork", "ibis"):
                    it.m.cut("heron", other)
            else:
                it.m.kill("heron")
            begun = it.m.time
            stork = it.parts("stork").spaces
            await it.until(lambda: stork.find("counter/default").node != "heron")  # type: ignore[union-attr]
            assert it.m.time - begun > LEASH
            assert await it.outcome(ann.counter("n").add(1)) == 1
            await it.m.pass_time(2 * SILENCE)
            known = [stork.find(space) for space in ("map/m", "counter/default")]
            assert [(each.generation, each.node == "heron") for each in known if each] == [
                (1, True), (2, False),
            ]  # fmt: skip
            if is_cut:
                it.m.heal()
            else:
                it.m.start("heron")
            await it.m.joined()
            assert await it.outcome(joe.counter("n").add(1)) == 2

    play(scenario)


def test_a_restart_of_the_home_is_no_loss() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            await it.outcome(joe.counter("n").add(1))
            it.m.kill("heron")
            await it.m.pass_time(SILENCE - 3)
            it.m.start("heron")
            await it.m.joined()
            await it.m.pass_time(SILENCE)
            assert await it.outcome(joe.counter("n").add(1)) == 2
            assert it.parts("stork").spaces.find("counter/default").generation == 1  # type: ignore[union-attr]

    play(scenario)
