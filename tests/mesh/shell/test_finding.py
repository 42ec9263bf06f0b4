"""Facts that the shell passes to the core about this machine: its interfaces, and the lag of the loop."""

import asyncio
import time
from pathlib import Path

import pytest

from mesh.config import Discovery, load
from mesh.discovery.advertised import Wish
from mesh.discovery.interfaces import Interface
from mesh.shell import finding
from mesh.shell.finding import PUBLIC_HOST, addresses, machine_hosts, wish_of
from mesh.shell.knocking import is_refused
from mesh.shell.starting import start
from tests.mesh.meshes import eventually, mesh_of
from tests.mesh.running import environment, state_directory

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


FILE = """
[node]
advertise = "192.0.2.1"
[nodes.heron]
address = "tcp://10.0.0.9:7710"
[nodes.stork]
address = "tcp://10.0.0.8:7710"
"""


def test_the_setting_the_environment_and_the_own_section_name_the_address(tmp_path: Path) -> None:
    file = tmp_path / "mesh.toml"
    file.write_text(FILE)
    config = load(file, {}, {})
    assert wish_of(config, "heron", {PUBLIC_HOST: "203.0.113.7"}) == Wish(
        "192.0.2.1", "203.0.113.7", "tcp://10.0.0.9:7710"
    )
    assert wish_of(config, "bilbo", {}) == Wish("192.0.2.1", "", "")
    assert wish_of(load(None, {}, {}), "heron", {}) == Wish()
    assert load(None, {"MESH_NODE__ADVERTISE": "10.0.0.7:1"}, {}).node.advertise == "10.0.0.7:1"


def test_the_hosts_of_this_machine_include_loopback() -> None:
    assert "127.0.0.1" in machine_hosts()


def test_a_node_advertises_its_setting_and_reports_a_hint_that_it_cannot_use(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        with state_directory() as state:
            environ = {**environment(state), PUBLIC_HOST: "nas.example.com"}
            given = {"node.id": "a", "discovery.mdns": False, "node.advertise": "127.0.0.1:9999"}
            node = await start(load(None, {}, given), environ)
            try:
                me = node.core.parts.context.me
                assert (me.address, me.also) == ("tcp://127.0.0.1:9999", ())
                assert node.described()["named"] == me.address
                text = "MESH_PUBLIC_HOST=nas.example.com is ignored: it is not an IP address"
                await eventually(lambda: text in caplog.text)
            finally:
                await node.close()

    asyncio.run(scenario())


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
