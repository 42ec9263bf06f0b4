"""A1 to A9, A19 and A29: clients of a slave whose master is two hops away, on processes."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.mesh.meshes import take
from tests.mesh.scenarios.hearing import hearing, nothing_more
from tests.mesh.scenarios.topology import RUGBY, Processes, a0, processes_of


@pytest.fixture(scope="module")
def c() -> Iterator[Processes]:
    with processes_of(a0("heron", "avalon", "frodo", "bilbo")) as c:
        yield c


@pytest.mark.smoke
def test_A1_a_publish_at_a_slave_reaches_the_master_two_hops_away(c: Processes) -> None:
    async def scenario() -> None:
        async with c.connect("bilbo", client="b") as b, c.connect("heron", client="h") as h:
            published = await b.publish("A1", b"We win", domain=RUGBY)
            assert (published.state, published.matched) == ("OK", 0)
            assert [(m.key, m.domain, m.content) for m in await h.get("A1")] == [("A1", RUGBY, b"We win")]
            assert "A1 RUGBY_NEWS: forward frodo: DOMAIN RUGBY_NEWS, stratum 1" in c["bilbo"].log
            assert "A1 RUGBY_NEWS: forward heron: DOMAIN RUGBY_NEWS, stratum 0" in c["frodo"].log

    asyncio.run(scenario())


@pytest.mark.smoke
def test_A2_the_slave_reads_it_back_once(c: Processes) -> None:
    async def scenario() -> None:
        async with c.connect("bilbo") as b:
            await b.publish("A2", b"We win", domain=RUGBY)
            [message] = await b.get("A2", domain=RUGBY)
            assert (message.content, message.source, message.stale) == (b"We win", "heron", None)
            async with hearing(b, "A2", RUGBY) as ear:  # from here on bilbo caches the value
                await ear.heard(1)
                [message] = await b.get("A2", domain=RUGBY)
                assert (message.content, message.source) == (b"We win", "bilbo")
                [message] = await b.get("A2", domain=RUGBY, fresh=True)
                assert (message.content, message.source) == (b"We win", "heron")

    asyncio.run(scenario())


@pytest.mark.smoke
def test_A3_an_erase_at_the_slave_empties_the_master(c: Processes) -> None:
    async def scenario() -> None:
        async with c.connect("bilbo", client="b") as b, c.connect("heron", client="h") as h:
            await b.publish("A3", b"We win", domain=RUGBY)
            assert await b.erase("A3", domain=RUGBY) == ["A3"]
            assert await h.get("A3") == await b.get("A3", domain=RUGBY) == []
            assert await b.erase("A3", domain=RUGBY) == []

    asyncio.run(scenario())


@pytest.mark.smoke
def test_A4_A5_A6_the_way_is_down_for_a_while(c: Processes) -> None:
    async def scenario() -> None:
        async with c.connect("bilbo", client="b") as b, c.connect("heron", client="h") as h:
            await b.publish("A4", b"gone", domain=RUGBY)
            await b.erase("A4", domain=RUGBY)
            async with hearing(h, "A4") as heard:
                # A4: it waits at bilbo, and leaves when frodo is back
                await asyncio.to_thread(c["frodo"].stop)
                assert await h.get("A4") == []
                published = await b.publish("A4", b"We win", domain=RUGBY)
                assert (published.state, published.matched) == ("FORWARD_WARNING", 0)
                assert "waits at bilbo for frodo" in published.note
                await nothing_more(h, heard, domain=RUGBY)
                assert heard.messages == []
                await asyncio.to_thread(c["frodo"].start)
                assert (await b.final(published)).ok
                await nothing_more(b, heard, domain=RUGBY)
                assert heard.contents == [b"We win"]
                assert (await b.publish("other", b"", domain=RUGBY)).ok

                # A5: a late subscriber at frodo
                async with c.connect("frodo", client="f") as f, hearing(f, "A4", RUGBY) as late:
                    await late.heard(1)
                    await nothing_more(b, late, domain=RUGBY)
                    assert [(m.content, m.state) for m in late.messages] == [(b"We win", "INITIAL")]

                    # A6: it unsubscribes, and publishes itself
                    await f.unsubscribe(late.subscription)
                    assert (await f.publish("A4", b"Again", domain=RUGBY)).matched == 1
                    await nothing_more(f, heard, late, domain=RUGBY)
                    assert heard.contents == [b"We win", b"Again"]
                    assert late.contents == [b"We win"]

    asyncio.run(scenario())


@pytest.mark.smoke
def test_A7_A8_A9_two_subscribers_of_a_slave_are_one_of_the_master(c: Processes) -> None:
    async def scenario() -> None:
        async with (
            c.connect("bilbo", client="one") as one,
            c.connect("bilbo", client="two") as two,
            hearing(one, "A7", RUGBY) as first,
            hearing(two, "A7", RUGBY) as second,
            c.connect("avalon") as out,
        ):
            # A7: both get it once, by avalon -> heron -> frodo -> bilbo
            assert (await out.publish("A7", b"1", domain=RUGBY)).ok
            await nothing_more(out, first, second, domain=RUGBY)
            assert first.contents == second.contents == [b"1"]
            [message] = second.messages
            assert [hop.node for hop in message.route] == ["avalon", "heron", "frodo", "bilbo"]
            assert message.sender == out.name

            # A8: one of them unsubscribes
            await one.unsubscribe(first.subscription)
            assert (await out.publish("A7", b"2", domain=RUGBY)).ok
            await nothing_more(out, first, second, domain=RUGBY)
            assert (first.contents, second.contents) == ([b"1"], [b"1", b"2"])

            # A9: another slave erases the topic
            assert await out.erase("A7", domain=RUGBY) == ["A7"]

    asyncio.run(scenario())


@pytest.mark.smoke
def test_A19_five_messages_to_a_session_two_hops_away_with_the_help_of_their_domain(c: Processes) -> None:
    async def scenario() -> None:
        async with (
            c.connect("heron", client="h", session=1) as h,
            c.connect("bilbo", client="b", session=1) as b,
            h.inbox() as inbox,
            b.inbox() as other,
        ):
            for number in range(5):
                assert (await b.send(h.name, b"%d" % number, force_queuing=True, domain=RUGBY)).matched == 1
            await b.send(h.name, b"end", domain=RUGBY)
            messages = await take(inbox, 6)
            assert [m.content for m in messages] == [b"0", b"1", b"2", b"3", b"4", b"end"]
            assert {(m.sender, m.to) for m in messages} == {
                ("/node/bilbo/client/b/session/1", "/node/heron/client/h/session/1")
            }
            assert (await h.send(b.name, b"nothing else")).matched == 1
            [message] = await take(other, 1)
            assert (message.content, message.sender) == (b"nothing else", h.name)

    asyncio.run(scenario())


@pytest.mark.smoke
def test_A29_a_message_has_the_route_that_it_took_with_strata_and_times(c: Processes) -> None:
    async def scenario() -> None:
        async with (
            c.connect("bilbo", client="b", session=1) as b,
            c.connect("heron", client="h") as h,
            hearing(h, "A29", RUGBY) as ear,
        ):
            assert (await b.publish("A29", b"We win", domain=RUGBY)).ok
            await ear.heard(1)
            [message] = ear.messages
            assert [(hop.node, hop.stratum) for hop in message.route] == [
                ("bilbo", 2),
                ("frodo", 1),
                ("heron", 0),
            ]
            times = [hop.at for hop in message.route]
            assert times == sorted(times) and times[0] > 0
            assert message.sender == b.name

    asyncio.run(scenario())
