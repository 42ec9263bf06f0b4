"""The leash of a home: it acts only while a majority of its voters answers."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import pytest

from mesh.errors import LocalError
from mesh.features.spaces.client import space
from mesh.flow.leash import LEASH, SILENCE
from tests.mesh.features.spaces.players import Players, play

FIVE = ("heron", "stork", "ibis", "egret", "crane")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let clients return an error at once, instead of trying for 10 s."""
    monkeypatch.setattr(space, "PATIENCE", 0.0)


async def code_of(it: Players, call: Awaitable[Any]) -> str:
    """Return the code of the error of a call, or "" after success."""
    try:
        await it.outcome(call)
    except LocalError as error:
        return error.code
    return ""


@pytest.mark.parametrize("nodes", [FIVE[:3], FIVE])
def test_a_home_that_is_cut_off_acts_for_8_s_and_again_after_the_cut(nodes: tuple[str, ...]) -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            found = joe.map("m")
            await it.outcome(found.put("k", 1))
            assert len(it.parts("heron").spaces.find("map/m").electors) == len(nodes)  # type: ignore[union-attr]
            for other in nodes[1:]:
                it.m.cut("heron", other)
            begun, codes = it.m.time, []
            while it.m.time < begun + LEASH + 1:
                codes.append((it.m.time, await code_of(it, found.put("k", 2))))
            ended = min(time for time, code in codes if code)
            assert begun + LEASH - 2.1 <= ended <= begun + LEASH + 0.2
            assert {code for time, code in codes if time >= ended} == {"NO_LEASH"}
            assert await code_of(it, found.get("k")) == "NO_LEASH"
            it.m.heal()
            await it.m.joined()
            await it.m.pass_time(2)
            assert await code_of(it, found.put("k", 3)) == ""

    play(scenario, nodes)


def test_a_home_whose_voters_are_dead_does_not_act_and_acts_when_one_returns() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            await it.outcome(joe.counter("n").add(1))
            it.m.kill("stork")
            await it.m.pass_time(LEASH + 4)
            assert await code_of(it, joe.counter("n").add(1)) == ""
            it.m.kill("ibis")
            await it.m.pass_time(LEASH + 0.5)
            assert await code_of(it, joe.counter("n").add(1)) == "NO_LEASH"
            it.m.start("stork")
            await it.m.pass_time(4)
            assert await code_of(it, joe.counter("n").add(1)) == ""

    play(scenario)


def test_a_home_of_two_nodes_has_no_other_voter_and_acts_alone() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            await it.outcome(joe.map("m").put("k", 1))
            it.m.kill("stork")
            await it.m.pass_time(SILENCE + LEASH)
            assert await code_of(it, joe.map("m").put("k", 2)) == ""
            assert it.parts("heron").leashes.figures() == {"leash_left": LEASH}

    play(scenario, ("heron", "stork"))


def test_a_voter_votes_without_the_home_only_after_a_silence_also_after_its_own_start() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            await it.outcome(joe.map("m").put("k", 1))
            known = it.parts("stork").spaces.find("map/m")
            assert known is not None
            it.m.kill("stork")
            it.m.start("stork")
            await it.m.joined()
            it.m.kill("heron")
            errors: list[Any] = []
            claiming = it.parts("stork").claiming
            wanted = known.__class__(it.uuid("stork"), "stork", 1, 10, 1000)
            claiming.claim("map/m", wanted, errors.append)
            await it.until(lambda: errors)
            assert errors[0].code == "HOME_ALIVE" and "heartbeats of its home heron" in errors[0].what
            await it.m.pass_time(SILENCE)
            claiming.claim("map/m", wanted, errors.append)
            await it.until(lambda: len(errors) > 1)
            assert errors[1] is None
            assert it.parts("ibis").spaces.find("map/m").generation == 2  # type: ignore[union-attr]

    play(scenario)


def test_a_promise_survives_a_restart_of_the_voter_so_the_old_home_does_not_act() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            await it.outcome(joe.map("m").put("k", 1))
            it.m.kill("heron")
            await it.m.pass_time(SILENCE + 1)
            ended: list[Any] = []
            known = it.parts("stork").spaces.find("map/m")
            assert known is not None
            wanted = known.__class__(it.uuid("stork"), "stork", 1, 10, 1000)
            it.parts("stork").claiming.claim("map/m", wanted, ended.append)
            await it.until(lambda: ended)
            for name in ("stork", "ibis"):
                it.m.kill(name)
            it.m.start("heron")
            it.m.start("ibis")
            await it.m.pass_time(5)
            assert await code_of(it, joe.map("m").put("k", 2)) in ("NODE_AWAY", "NO_LEASH", "NOT_HOME")

    play(scenario)
