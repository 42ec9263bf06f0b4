"""Facts that the shell passes to the core about this machine: its interfaces, and the lag of the loop."""

import asyncio
import time

import pytest

from mesh.config import Discovery
from mesh.discovery.interfaces import Interface
from mesh.shell import finding
from mesh.shell.finding import addresses
from mesh.shell.knocking import is_refused
from tests.mesh.meshes import eventually, mesh_of

LOOPBACK = Interface("lo", ("127.0.0.1",), True, False)


def test_other_nodes_learn_when_the_interfaces_change(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with mesh_of("a", "b") as m:
            a = m.nodes["a"]
            there = a.described()["tcp"][0]
            a.driver.events.readdressed((there, "tcp://127.0.0.2:7"))
            other = m.nodes["b"].core.parts.neighbours.peers[a.core.parts.context.me.uuid]
            await eventually(lambda: other.node.also == ("tcp://127.0.0.2:7",))

    asyncio.run(scenario())


def test_a_wildcard_is_told_as_the_addresses_of_fit_interfaces(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        LOOPBACK,
        Interface("eth0", ("10.9.9.1", "fe80::1%eth0"), True, True),
        Interface("docker0", ("172.17.0.1",), True, True),
        Interface("eth1", ("10.8.8.1",), False, True),
    ]
    monkeypatch.setattr(finding, "interfaces", lambda: found)
    assert addresses(["tcp://*:7710"], Discovery()) == ("tcp://10.9.9.1:7710",)
    assert addresses(["tcp://127.0.0.1:1"], Discovery()) == ("tcp://127.0.0.1:1",)
    assert addresses(["tcp://[::]:1"], Discovery())[0] == "tcp://10.9.9.1:1"


def test_after_a_stall_the_core_moves_its_deadlines_and_hears_before_it_judges(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        async with mesh_of("a") as m:
            a, order = m.nodes["a"], list[str]()
            tick = a.core.tick

            def noted(now: float, wall: int) -> None:
                order.append("tick")
                tick(now, wall)

            monkeypatch.setattr(
                a.core, "lagged", lambda late, now: order.append("late" if late >= 1 else "early")
            )
            monkeypatch.setattr(a.core, "tick", noted)
            a.driver._due = time.monotonic() - 1
            asyncio.get_running_loop().call_soon(order.append, "heard")
            a.driver._tick()
            assert order == ["late"]
            await eventually(lambda: "tick" in order)
            assert order[:3] == ["late", "heard", "tick"]

    asyncio.run(scenario())


def test_a_place_where_nobody_listens_refuses_and_one_where_somebody_does_does_not() -> None:
    async def scenario() -> None:
        async with mesh_of("a") as m:
            told = m.nodes["a"].described()
            assert not await is_refused(told["tcp"][0])
            assert not await is_refused(told["ipc"])
        assert await is_refused(told["tcp"][0])
        assert await is_refused(told["ipc"])
        assert not await is_refused("tcp://nonsense")

    asyncio.run(scenario())


def test_where_no_descriptor_is_left_the_next_look_tells_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses() -> None:
        raise OSError("too many open files")

    async def scenario() -> None:
        async with mesh_of("a") as m:
            looks = m.nodes["a"]._finding
            before = looks._changes.adopted
            monkeypatch.setattr(finding, "interfaces", refuses)
            looks._check_interfaces()
            assert looks._changes.adopted == before
            assert looks._timer is not None and not looks._timer.cancelled()

    asyncio.run(scenario())
