"""A mesh in memory, which behaves like a real one: its clients, its nodes, and invalid requests."""

from __future__ import annotations

import asyncio
import gc
import inspect
import socket
import threading
import warnings
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import mesh
from mesh.errors import (
    BadKey,
    Closed,
    CoreFailed,
    MeshTimeout,
    NodeNotFound,
    NotConnected,
    UnknownNode,
    WrongLoop,
)
from mesh.testing import Mesh
from mesh.testing import mesh as module
from tests.mesh.testing.scenarios import scenario

NOBODY: Any = None


def test_it_opens_no_socket_no_file_and_no_thread(tmp_path: Path) -> None:
    async def told() -> None:
        async with Mesh(2) as m, m.connect("a") as one, m.connect("b") as other:
            async with other.subscribe("k") as s:
                await one.publish("k", b"x", persistent=True)
                assert (await anext(s)).content == b"x"

    with asyncio.Runner() as runner:
        runner.get_loop()  # it opens a socket pair
        threads = threading.active_count()
        with patch.object(socket, "socket", NOBODY), patch("builtins.open", NOBODY), patch("os.open", NOBODY):
            runner.run(told())
        assert threading.active_count() == threads


@scenario(2)
async def test_what_is_published_at_one_node_is_heard_at_another(m: Mesh) -> None:
    async with m.connect("a", client="joe") as a, m.connect("b", client="ann") as b:
        async with b.subscribe(pattern="room/#") as s:
            said = await a.publish("room/temp", b"21", headers={"unit": "C"}, priority=7)
            heard = await anext(s)
    assert (said.state, said.matched) == ("OK", 1)
    assert (heard.id, heard.key, heard.content, heard.priority) == (said.id, "room/temp", b"21", 7)
    assert heard.headers == mesh.Headers([("unit", "C")])
    assert heard.sender.startswith("/node/a/client/joe/session/")
    assert [hop.node for hop in heard.route] == ["a", "b"]


@scenario(2)
async def test_a_client_has_the_verbs_that_users_know(m: Mesh) -> None:
    async with m.connect("a", client="joe", session=1) as a, m.connect("b") as b:
        assert isinstance(a, mesh.Client) and a.name == "/node/a/client/joe/session/1"
        assert await a.publish_many("many", [b"%d" % n for n in range(3000)]) == 3000
        assert [v.content for v in await b.get("many")] == [b"2999"]
        assert await b.erase("many") == ["many"]
        assert await a.get("many") == []
        async with a.inbox() as inbox:
            assert (await b.send("/node/a/client/joe", "hi")).matched == 1
            assert (await anext(inbox)).text == "hi"
        with pytest.raises(UnknownNode):
            await b.send("/node/c/client/joe", b"")
        with pytest.raises(NotConnected):
            await b.send("/node/a/client/ann", b"")
        receipt = b.post("k", b"x")
        await b.flush()
        assert (await receipt).ok
        assert (await a.route("k"))[0]["decision"]
        assert {node["name"] for node in (await a.call("ls"))["nodes"]} == {"a", "b"}


@scenario(2)
async def test_long_contents_travel_in_pieces(m: Mesh) -> None:
    async with m.connect("a") as a, m.connect("b") as b, b.subscribe("k") as s:
        await a.publish("k", bytes(1 << 20))
        assert (await anext(s)).content == bytes(1 << 20)
        assert m.published[0].content == bytes(1 << 20)


@scenario(["heron", "frodo"], rules={"frodo": ["NEWS"]})
async def test_rules_say_who_is_master(m: Mesh) -> None:
    assert m.nodes == ("heron", "frodo")
    async with m.connect() as a, m.connect("frodo") as b:
        assert a.name.startswith("/node/heron/")
        await a.publish("k", b"x", domain="NEWS")
        assert [v.source for v in await b.get("k", domain="NEWS")] == ["frodo"]
        m.kill("frodo")
        await m.joined()
        waits = asyncio.create_task(a.publish("k", b"y", domain="NEWS"))
        await m.pass_time(2)
        assert (await waits).state == "FORWARD_WARNING"
        m.start("frodo")
        await m.joined()
        assert (await a.final(await waits)).ok


@scenario(2, rules='default_scope = "local"\n[limits]\nmax_content = 10\n')
async def test_rules_may_be_a_whole_file(m: Mesh) -> None:
    async with m.connect("a") as a, m.connect("b") as b:
        await a.publish("k", b"x")
        assert await b.get("k") == []
        with pytest.raises(mesh.MeshError, match="the limit is 10"):
            await a.publish("k", b"12345678901")


@scenario(2)
async def test_what_was_published_can_be_looked_at_in_order(m: Mesh) -> None:
    async with m.connect("a", client="joe", session=3) as a, m.connect("b", client="ann") as b:
        said = await a.publish("one", b"1", headers={"h": "v"}, domain="D", persistent=True)
        await b.publish("two", "2")
        await b.publish_many("three", [b"3", b"4"])
        async with a.inbox():
            await b.send("/node/a/client/joe/session/3", b"5", key="five")
        with pytest.raises(BadKey):
            await b.publish("", b"6")
        with pytest.raises(mesh.MeshError):
            await b.send("/node/a/client/nobody", b"7")
    first, *rest = m.published
    assert (first.key, first.content, first.domain, first.persistent) == ("one", b"1", "D", True)
    assert first.id == said.id and len({p.id for p in m.published}) == len(m.published)
    assert (first.headers["h"], first.sender) == ("v", "/node/a/client/joe/session/3")
    assert [(p.key, p.content) for p in rest[:-2]] == [("two", b"2"), ("three", b"3"), ("three", b"4")]
    assert [(p.to, p.content) for p in rest[-2:]] == [
        ("/node/a/client/joe/session/3", b"5"),
        ("/node/a/client/nobody", b"7"),
    ]


@scenario(1)
async def test_it_keeps_the_last_10_000_of_what_was_published(m: Mesh) -> None:
    async with m.connect() as a:
        await a.publish_many("k", [b"%d" % n for n in range(12_345)])
    assert len(m.published) == module.KEPT == 10_000
    assert (m.published[0].content, m.published[-1].content) == (b"2345", b"12344")


@scenario(2)
async def test_what_is_sent_again_was_published_once(m: Mesh) -> None:
    async with m.connect("a") as a:
        m.kill("a")
        receipt = a.post("k", b"x", persistent=True)
        m.start("a")
        await m.pass_time(5)
        assert (await receipt).ok and len(m.published) == 1


def test_it_connects_as_users_know_it() -> None:
    known = list(inspect.signature(mesh.connect).parameters)
    assert list(inspect.signature(Mesh.connect).parameters) == ["self", *known]
    with Mesh() as m, pytest.raises(TypeError, match="unknown"):
        m.connect(unknown=1)  # type: ignore[call-arg]


def test_it_can_stand_in_the_place_of_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    async def program() -> None:
        async with mesh.connect(client="joe", cluster="default", environ={}) as m:
            await m.publish("k", b"x")

    with Mesh() as m:
        monkeypatch.setattr(mesh, "connect", m.connect)
        asyncio.run(program())
    assert [p.key for p in m.published] == ["k"]


# --- faults -----------------------------------------------------------------------------------------------


@scenario(2)
async def test_a_killed_node_comes_back_with_what_it_stored(m: Mesh) -> None:
    async with m.connect("a") as a, m.connect("b", timeout=5) as b:
        await b.publish("kept", b"1", persistent=True)
        await b.publish("lost", b"2")
        events = b.events()
        m.kill("b")
        m.kill("b")  # a second kill is harmless
        assert (await anext(events)).kind == "disconnected"
        with pytest.raises(NodeNotFound, match=r"b is not running.*m.start\('b'\)"):
            async with m.connect("b"):
                pass
        m.start("b")
        m.start("b")
        await m.joined()
        await m.pass_time(3)
        assert (await anext(events)).kind == "connected"
        assert [v.content for v in await a.get("kept")] == [b"1"]
        assert await a.get("lost") == []


@scenario(2)
async def test_a_subscription_outlives_its_node(m: Mesh) -> None:
    async with m.connect("a") as a, m.connect("b") as b, b.subscribe("k") as s:
        m.kill("b")
        m.start("b")
        await m.joined()
        await m.pass_time(3)
        await a.publish("k", b"x")
        assert (await anext(s)).content == b"x"


@scenario(2, rules={"b": ["NEWS"]})
async def test_what_is_cut_off_waits_and_arrives_when_it_is_healed(m: Mesh) -> None:
    async with m.connect("a") as a, m.connect("b") as b, b.subscribe("k", domain="NEWS") as s:
        for length in (0.5, 60):  # the connections survive only the first cut
            m.cut("a", "b")
            waits = asyncio.create_task(a.publish("k", b"%d" % length, domain="NEWS", persistent=True))
            await m.pass_time(length)
            assert waits.done() == (length > 1)
            m.heal()
            await m.joined()
            await m.pass_time(30)
            await a.final(await waits)
            assert (await anext(s)).content == b"%d" % length


@scenario(3)
async def test_a_third_node_speaks_with_both_that_are_cut_off_from_each_other(m: Mesh) -> None:
    async with m.connect("a") as a, m.connect("c") as c, c.subscribe("k") as s:
        m.cut("a", "b")
        await m.joined()
        await m.pass_time(30)
        assert all(len(node.alive()) == 2 for node in m._nodes.values())
        await a.publish("k", b"x")
        assert (await anext(s)).content == b"x"


@scenario(2)
async def test_a_node_whose_core_fails_ends_and_is_told_of_when_the_mesh_is_closed(m: Mesh) -> None:
    async with m.connect("a"):
        node = m._nodes["b"]
        with patch.object(node.core, "tick", side_effect=ZeroDivisionError):
            await m.pass_time(10)
        assert not node.is_up
        with pytest.raises(CoreFailed, match="ZeroDivisionError"):
            m.close()


@scenario(2)
async def test_a_node_that_is_told_to_go_down_goes(m: Mesh) -> None:
    async with m.connect("a") as a, m.connect("b") as b:
        await b.call("down")
        await m.joined()
        assert not m._nodes["b"].is_up
        assert (await a.publish("k", b"")).ok


# --- joining and leaving -----------------------------------------------------------------------------------


def test_it_may_be_used_in_one_loop_after_the_other() -> None:
    async def told(content: bytes) -> None:
        async with m.connect() as a:
            await a.publish("k", content, persistent=True)
            await m.pass_time(10)

    with Mesh(2) as m:
        asyncio.run(told(b"1"))
        m.kill("b")
        asyncio.run(told(b"2"))
        assert [p.content for p in m.published] == [b"1", b"2"]


def test_a_loop_that_is_closed_while_clients_are_open_leaves_a_mesh_that_goes_on() -> None:
    loop = asyncio.new_event_loop()
    with Mesh(2) as m:
        first = m.connect("a", client="first")
        loop.run_until_complete(first.__aenter__())
        subscription = first.subscribe("k")
        loop.run_until_complete(subscription.__aenter__())
        loop.close()

        async def told() -> None:
            async with m.connect("a") as a:
                assert (await a.publish("k", b"x")).matched == 1
                await m.pass_time(120)
                assert (await a.publish("k", b"x")).matched == 0

        asyncio.run(told())
        with pytest.raises(WrongLoop):
            first.events()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it was never closed, and warns
        del first, subscription
        gc.collect()


def test_two_meshes_know_nothing_of_each_other() -> None:
    async def told() -> None:
        async with Mesh() as one, Mesh() as other, one.connect() as a, other.connect() as b:
            await a.publish("k", b"x")
            assert await b.get("k") == []
            assert (len(one.published), len(other.published)) == (1, 0)

    asyncio.run(told())


def test_one_that_is_not_open_says_so() -> None:
    async def told() -> None:
        m = Mesh()
        with pytest.raises(Closed, match="not open"):
            m.connect()
        async with m:
            async with m:  # as if a fixture had opened it
                pass
        with pytest.raises(Closed, match="Create another"):
            async with m:
                pass
        for ask in (m.heal, m.connect, lambda: m.kill("a"), lambda: m.start("a"), lambda: m.cut("a", "b")):
            with pytest.raises(Closed):
                ask()
        with pytest.raises(Closed):
            await m.pass_time(1)
        m.close()

    asyncio.run(told())


def test_a_client_that_outlives_the_mesh_can_be_closed() -> None:
    async def told() -> None:
        m = Mesh()
        async with m, m.connect() as early:
            await early.publish("k", b"x")
            late = await m.connect().__aenter__()
        await asyncio.sleep(0)
        await late.close()

    asyncio.run(told())


def test_it_is_used_from_one_thread() -> None:
    errors: list[Exception] = []

    def elsewhere(m: Mesh) -> None:
        try:
            m.kill("a")
        except Exception as error:
            errors.append(error)

    async def told() -> None:
        async with Mesh() as m, m.connect():
            thread = threading.Thread(target=elsewhere, args=(m,))
            thread.start()
            thread.join()

    asyncio.run(told())
    assert [type(error) for error in errors] == [WrongLoop]


# --- bad arguments ----------------------------------------------------------------------------------------


@scenario(2)
async def test_nodes_that_do_not_find_each_other_in_time_are_told_of(m: Mesh) -> None:
    m.kill("b")
    with pytest.raises(MeshTimeout, match=r"within 0\.5 s"):
        await m.joined(0.5)


def test_in_a_mesh_that_is_no_site_all_who_are_alive_are_its_own_nodes() -> None:
    async def told() -> mesh.Views:
        async with Mesh(2) as it, it.connect() as m:
            return await m.views()

    views = asyncio.run(told())
    assert (sorted(views.local), views.remote) == (["a", "b"], {})
    assert views.everywhere == [("", node) for node in views.local]


def test_who_is_in_another_site_comes_behind_those_of_ones_own() -> None:
    rows = {s: mesh.SiteRow(site=s, state="up", since=1.0, nodes=["gull"]) for s in ("NYC", "SFO")}
    views = mesh.Views("LON", ["heron"], rows)
    assert views.everywhere == [("LON", "heron"), ("NYC", "gull"), ("SFO", "gull")]
