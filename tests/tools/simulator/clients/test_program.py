"""Coroutines in simulated time."""

import asyncio

import pytest

from tools.simulator.clients.outcome import Outcome
from tools.simulator.clients.program import new_program
from tools.simulator.world.network import Network


@pytest.fixture
def net() -> Network[object]:
    return Network()


def test_a_program_sleeps_in_simulated_time_by_its_own_clock(net: Network[object]) -> None:
    program, times = new_program(net, drift=0.25), list[float]()

    async def work() -> None:
        await asyncio.sleep(10.0)
        times.append(asyncio.get_running_loop().time())

    program.create_task(work())
    net.run(7.9)
    assert not times
    net.run(0.2)
    assert times == [pytest.approx(10.0)]


def test_a_paused_program_runs_nothing_and_goes_on_later(net: Network[object]) -> None:
    program, times = new_program(net), list[float]()

    async def work() -> None:
        while True:
            await asyncio.sleep(1.0)
            times.append(net.now)

    program.create_task(work())
    net.run(1.5)
    program.pause(3.0)
    net.run(3.8)
    assert times == [pytest.approx(1.0), pytest.approx(4.5)]
    program.end()


def test_a_program_waits_for_a_promise_of_its_client(net: Network[object]) -> None:
    program, promise, found = new_program(net), Outcome(), list[object]()

    async def work() -> None:
        found.append(await promise)

    program.create_task(work())
    net.run(1.0)
    assert not found
    promise.set_result("here")
    net.run(0.0)
    assert found == ["here"]


def test_the_end_of_a_program_cancels_all_of_its_work(net: Network[object]) -> None:
    program, ended = new_program(net), list[str]()

    async def work(name: str) -> None:
        try:
            await asyncio.sleep(100.0)
        finally:
            ended.append(name)

    program.create_task(work("one"))
    program.create_task(work("other"))
    net.run(1.0)
    program.end()
    assert ended == ["one", "other"]


def test_an_error_in_a_program_ends_the_run(net: Network[object]) -> None:
    async def work() -> None:
        raise ValueError("unexpected")

    new_program(net).create_task(work())
    with pytest.raises(ValueError, match="unexpected"):
        net.run(1.0)
