"""Real clients of two or three real nodes, over real sockets, as a user runs them."""

import asyncio
from collections.abc import Iterator

import pytest

import mesh
from mesh.errors import Closed, MessageTooLarge, NodeNotFound, SiteUnreachable, WouldBlock
from tests.mesh.meshes import eventually, in_memory, mesh_of, take


def test_a_message_reaches_a_subscriber_at_another_node() -> None:
    async def scenario() -> None:
        async with mesh_of("a", "b") as m, m.connect("a") as ma, m.connect("b") as mb:
            async with mb.subscribe("room/temp") as sub:
                published = await ma.publish("room/temp", b"21.5", headers={"Unit": "C"})
                [message] = await take(sub, 1)
            assert published.ok and published.matched == 1 and published.id == message.id
            assert (message.key, message.content, message.domain) == ("room/temp", b"21.5", "")
            assert message.headers["unit"] == "C"
            assert message.sender == ma.name
            assert [hop.node for hop in message.route] == ["a", "b"]
            assert message.state == "OK" and not message.provisional

    asyncio.run(scenario())


def test_many_messages_arrive_in_order_once_and_all() -> None:
    async def scenario() -> None:
        async with mesh_of("a", "b") as m, m.connect("a") as ma, m.connect("b") as mb:
            async with mb.subscribe(pattern="n/#") as sub:
                reader = asyncio.create_task(take(sub, 5_000))
                for i in range(5_000):
                    try:
                        ma.post(f"n/{i % 7}", b"%d" % i)
                    except WouldBlock:
                        await ma.flush()
                        ma.post(f"n/{i % 7}", b"%d" % i)
                await ma.flush()
                messages = await reader
            assert [int(message.content) for message in messages] == list(range(5_000))
            assert all(message.key == f"n/{int(message.content) % 7}" for message in messages)

    asyncio.run(scenario())


def test_exact_and_pattern_subscriptions_get_what_they_asked_for() -> None:
    async def scenario() -> None:
        async with in_memory("a", "b") as m, m.connect("a") as ma, m.connect("b") as mb:
            async with (
                mb.subscribe("x/1") as one,
                mb.subscribe(pattern="x/+") as plus,
                mb.subscribe(domain="D") as domain,
            ):
                for i in range(90):
                    ma.post(f"x/{i % 3}", b"%d" % i)
                    ma.post("y", b"d%d" % i, domain="D")
                await ma.flush()
                ones, pluses, domains = await take(one, 30), await take(plus, 90), await take(domain, 90)
            assert [int(x.content) for x in ones] == list(range(1, 90, 3))
            assert [int(x.content) for x in pluses] == list(range(90))
            assert [x.content for x in domains] == [b"d%d" % i for i in range(90)]

    asyncio.run(scenario())


def test_a_node_that_joins_later_is_subscribed_at_too() -> None:
    async def scenario() -> None:
        async with mesh_of("a") as m, m.connect("a") as ma, ma.subscribe("late") as sub:
            from mesh.config import load
            from mesh.shell.starting import start

            a = m.nodes["a"]
            given = {
                "node.id": "b",
                "node.peers": a.described()["tcp"],
                "node.cluster": a.core.parts.status.node_info().cluster,
            }
            b = await start(load(None, {}, given), m.environ)
            try:
                async with m.connect("b") as mb:
                    await eventually(lambda: b.core.parts.status.node_info().metrics["upstream_queries"] == 1)
                    assert (await mb.publish("late", b"hello")).matched == 1
                    [message] = await take(sub, 1)
                    assert message.content == b"hello"
            finally:
                await b.close()

    asyncio.run(scenario())


def test_many_clients_of_a_node_make_one_upstream_query() -> None:
    async def scenario() -> None:
        async with in_memory("a", "b") as m, m.connect("b") as one, m.connect("b") as two:
            async with one.subscribe("k") as first, two.subscribe("k") as second:
                assert m.metric("a", "upstream_queries") == 1
                async with m.connect("a") as ma:
                    assert (await ma.publish("k", b"v")).matched == 1
                assert (await take(first, 1))[0].content == (await take(second, 1))[0].content == b"v"
            await eventually(lambda: m.metric("a", "upstream_queries") == 0)

    asyncio.run(scenario())


def test_get_finds_the_newest_value_on_every_node() -> None:
    async def scenario() -> None:
        async with in_memory("a", "b", "c") as m, m.connect("a") as ma, m.connect("b") as mb:
            await ma.publish("k", b"old")
            await mb.publish("k", b"new")
            await mb.publish("other", b"x", persistent=True)
            async with m.connect("c") as mc:
                assert [x.content for x in await mc.get("k")] == [b"new"]
                assert {x.key: x.content for x in await mc.get(pattern="#")} == {"k": b"new", "other": b"x"}
                assert await mc.get("nothing") == []

    asyncio.run(scenario())


def test_a_new_subscriber_gets_the_last_value_first() -> None:
    async def scenario() -> None:
        async with in_memory("a", "b") as m, m.connect("a") as ma, m.connect("b") as mb:
            await ma.publish_many("k", [b"1", b"2", b"3"])
            async with mb.subscribe("k") as sub, mb.subscribe("k", initial=False) as fresh:
                await ma.publish("k", b"4")
                assert [(x.content, x.state) for x in await take(sub, 2)] == [(b"3", "INITIAL"), (b"4", "OK")]
                assert [x.content for x in await take(fresh, 1)] == [b"4"]

    asyncio.run(scenario())


def test_batches_give_the_same_messages() -> None:
    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as ma, ma.subscribe(pattern="#") as sub:
            await ma.publish_many("k", (b"%d" % i for i in range(1000)))
            contents: list[bytes] = []
            async for batch in sub.batches():
                contents += batch.contents()
                assert len(batch) == len(batch.contents()) == len(list(batch))
                if len(contents) == 1000:
                    break
            assert contents == [b"%d" % i for i in range(1000)]

    asyncio.run(scenario())


def test_of_many_that_are_published_those_before_a_wrong_one_arrive() -> None:
    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as ma, ma.subscribe("k") as sub:
            with pytest.raises(TypeError):
                await ma.publish_many("k", [b"1", "2", bytearray(b"3"), object(), b"5"])
            assert await ma.publish_many("k", iter([b"6"]), headers={"a": "b"}, expiry=60.0) == 1
            assert await ma.publish_many("k", []) == 0
            found = await take(sub, 4)
            assert [x.content for x in found] == [b"1", b"2", b"3", b"6"]
            assert (found[3].headers["a"], found[3].expires > 0, found[2].expires) == ("b", True, 0)

    asyncio.run(scenario())


def test_what_is_not_there_yet_is_published_as_it_comes() -> None:
    def reused() -> Iterator[bytearray]:
        buffer = bytearray(1)
        for digit in b"012":
            buffer[0] = digit
            yield buffer
        raise OSError("no more")

    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as ma, ma.subscribe("k") as sub:
            with pytest.raises(OSError):
                await ma.publish_many("k", reused())
            assert [x.content for x in await take(sub, 3)] == [b"0", b"1", b"2"]

    asyncio.run(scenario())


def test_a_client_that_is_closed_while_many_wait_for_room_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with mesh_of("a") as m, m.connect("a") as ma:
            ma._core.publisher.outbox.window = (1, 1)

            async def closed_meanwhile() -> None:
                await ma.close(drain=False)

            monkeypatch.setattr(ma, "_room", closed_meanwhile)
            with pytest.raises(Closed):
                await ma.publish_many("k", [bytes(1000)] * 5000)

    asyncio.run(scenario())


def test_content_of_a_megabyte_travels_and_more_is_refused_before_it_is_sent() -> None:
    async def scenario() -> None:
        async with mesh_of("a", "b") as m, m.connect("a") as ma, m.connect("b") as mb:
            async with mb.subscribe("big") as sub:
                big = bytes(range(256)) * 4096
                await ma.publish("big", big)
                assert (await take(sub, 1))[0].content == big
                with pytest.raises(MessageTooLarge, match="1048577 bytes"):
                    ma.post("big", big + b"x")
                await ma.publish("big", b"still fine")
                assert (await take(sub, 1))[0].content == b"still fine"

    asyncio.run(scenario())


def test_a_larger_limit_sends_chunks() -> None:
    async def scenario() -> None:
        limit: dict[str, object] = {"limits.max_content": 8 << 20}
        async with mesh_of("a", "b", settings=limit) as m, m.connect("a") as ma, m.connect("b") as mb:
            async with mb.subscribe("big") as sub:
                big = bytes(range(256)) * (3 << 12)
                await ma.publish("big", big, persistent=True)
                assert (await take(sub, 1))[0].content == big

    asyncio.run(scenario())


def test_a_full_window_is_said_and_opens_again() -> None:
    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as ma:
            posted = 0
            with pytest.raises(WouldBlock):
                ma._shell.read_arrived = lambda: None  # type: ignore[method-assign]  # no answers
                while posted < 10_000_000:
                    ma.post("k", b"x" * 1000)
                    posted += 1
            await ma.flush()
            assert (await ma.publish("k", b"y")).ok
            assert m.metric("a", "published") == posted + 1

    asyncio.run(scenario())


def test_an_unknown_site_says_so() -> None:
    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as ma:
            with pytest.raises(SiteUnreachable, match="does not know the site"):
                await ma.send("/site/s/node/a/client/joe", b"")

    asyncio.run(scenario())


def test_a_closed_client_says_so() -> None:
    async def scenario() -> None:
        async with in_memory("a") as m:
            async with m.connect("a") as ma, ma.subscribe("k") as sub:
                pass
            with pytest.raises(Closed):
                ma.post("k", b"")
            assert [x async for x in sub] == []

    asyncio.run(scenario())


def test_without_a_node_it_says_how_to_start_one() -> None:
    async def scenario() -> None:
        async with mesh_of("a") as m:
            with pytest.raises(NodeNotFound, match="mesh up"):
                async with mesh.connect("nobody", environ=m.environ):
                    pass

    asyncio.run(scenario())


def test_over_tcp_the_cookie_is_proven_and_a_session_may_be_named() -> None:
    async def scenario() -> None:
        async with mesh_of("a") as m:
            address = m.nodes["a"].described()["tcp"][0]
            async with mesh.connect(address, client="joe", session=7, environ=m.environ) as joe:
                assert joe.name == "/node/a/client/joe/session/7"
                assert (await joe.publish("k", b"v")).ok
                assert await joe.ping() > 0

    asyncio.run(scenario())


def test_local_only_messages_stay_at_their_node() -> None:
    async def scenario() -> None:
        async with in_memory("a", "b") as m, m.connect("a") as ma, m.connect("b") as mb:
            async with ma.subscribe("k") as here, mb.subscribe("k") as there:
                await ma.publish("k", b"local", local_only=True)
                await ma.publish("k", b"all")
                assert [x.content for x in await take(here, 2)] == [b"local", b"all"]
                assert [x.content for x in await take(there, 1)] == [b"all"]

    asyncio.run(scenario())
