"""Masters, routes to them and unreachable masters, as a client sees them, on real nodes."""

import asyncio
from typing import Any

import pytest

from mesh.errors import BadArgument, BadQuery, Expired, MasterAway
from tests.mesh.client.masters import RUGBY, masters
from tests.mesh.meshes import LIMIT, take

pytestmark = pytest.mark.slow


def test_what_is_published_at_a_slave_reaches_its_master_and_subscribers_on_the_way() -> None:
    async def scenario() -> None:
        async with masters() as m, m.connect("bilbo") as b, m.connect("heron") as h, m.connect("frodo") as f:
            async with h.subscribe(domain=RUGBY) as at_master, f.subscribe("scores", domain=RUGBY) as on_way:
                published = await b.publish("scores", b"3:0", domain=RUGBY, persistent=True)
                [message] = await take(at_master, 1)
                [other] = await take(on_way, 1)
            assert (published.state, published.note) == ("OK", "")
            assert message.id == other.id == published.id
            assert [(hop.node, hop.stratum) for hop in message.route] == [
                ("bilbo", 2),
                ("frodo", 1),
                ("heron", 0),
            ]
            assert message.sender == b.name
            assert message.sent == message.route[0].at <= message.route[2].at
            assert await b.final(published) is published

    asyncio.run(scenario())


@pytest.mark.parametrize("persistent", [False, True])
def test_what_waits_for_a_master_is_answered_twice(persistent: bool) -> None:
    async def scenario() -> None:
        async with masters("frodo", "bilbo", patience=0.2) as m, m.connect("bilbo") as b:
            receipts = [b.post("k", b"%d" % n, domain=RUGBY, persistent=persistent) for n in range(10)]
            first = await receipts[0]
            await b.flush()
            assert (first.state, b.waiting()) == ("FORWARD_WARNING", (10, first.note))
            assert "waits at" in first.note
            last = asyncio.ensure_future(b.final(first))
            await m.start("heron")
            assert (await last).state == "OK"
            assert [(await b.final(receipt)).ok for receipt in receipts] == [True] * 10
            assert b.waiting()[0] == 0
            async with m.connect("heron") as h:
                assert [x.content for x in await h.get("k", domain=RUGBY)] == [b"9"]

    asyncio.run(scenario())


def test_what_expires_while_it_waits_is_told_as_an_event_and_to_who_asks() -> None:
    async def scenario() -> None:
        async with masters("frodo", "bilbo", patience=0.2) as m, m.connect("bilbo") as b:
            events = b.events()
            event = asyncio.ensure_future(anext(events))
            published = await b.publish("k", b"x", domain=RUGBY, expiry=0.5)
            assert published.state == "FORWARD_WARNING"
            told = await asyncio.wait_for(event, LIMIT)
            assert told.kind == "refused-later"
            assert told.text.startswith(f"{published.id}: ") and told.text.endswith("[EXPIRED]")
            with pytest.raises(Expired):
                await b.final(published)
            await b.flush()

    asyncio.run(scenario())


def test_a_topic_is_erased_at_its_master_after_all_that_was_posted_and_each_subscriber_hears_it_once() -> (
    None
):
    async def scenario() -> None:
        async with masters() as m, m.connect("bilbo") as b, m.connect("heron") as h, m.connect("frodo") as f:
            async with h.subscribe("k", domain=RUGBY) as one, f.subscribe(domain=RUGBY) as two:
                for n in range(1000):
                    b.post("k", b"%d" % n, domain=RUGBY)
                assert await b.erase("k", domain=RUGBY) == ["k"]
                assert await b.get("k", domain=RUGBY) == []
                for subscription in (one, two):
                    messages = await take(subscription, 1001)
                    assert [x.state for x in messages] == ["OK"] * 1000 + ["ERASED"]
                    assert (messages[-1].key, messages[-1].content) == ("k", b"")
                assert await b.erase("k", domain=RUGBY) == []
                await b.publish("k", b"again", domain=RUGBY)
                assert [x.content for x in await take(one, 1)] == [b"again"]

    asyncio.run(scenario())


@pytest.mark.parametrize("mode", ["silent", "history_only"])
def test_without_an_event_a_topic_is_erased_everywhere_and_its_subscribers_go_on(mode: str) -> None:
    async def scenario() -> None:
        how: Any = {mode: True}
        async with masters() as m, m.connect("bilbo") as b, m.connect("heron") as h, m.connect("frodo") as f:
            async with h.subscribe("k", domain=RUGBY) as one, f.subscribe("k", domain=RUGBY) as two:
                await b.publish("k", b"1", domain=RUGBY)
                assert await b.erase("k", domain=RUGBY, **how) == ["k"]
                assert await f.get("k", domain=RUGBY) == await h.get("k", domain=RUGBY) == []
                await b.publish("k", b"2", domain=RUGBY)
                for subscription in (one, two):
                    messages = await take(subscription, 2)
                    assert [(x.state, x.content) for x in messages] == [("OK", b"1"), ("OK", b"2")]
                assert await b.erase(xpath="//key[@oid='k']", domain=RUGBY, **how) == ["k"]
                with pytest.raises(BadArgument, match="history_only="):
                    await b.erase("k", silent=True, history_only=True)
                with pytest.raises(
                    BadArgument, match=f"{mode}= cannot be used for the rules or addresses of a node"
                ):
                    await b.erase("__sys__cluster.node.master[heron]", **how)

    asyncio.run(scenario())


def test_erasing_needs_its_master_and_a_key() -> None:
    async def scenario() -> None:
        async with masters("frodo", "bilbo", patience=0.2) as m, m.connect("bilbo") as b:
            with pytest.raises(MasterAway, match="heron"):
                await b.erase("k", domain=RUGBY)
            with pytest.raises(BadQuery):
                await b.erase()

    asyncio.run(scenario())


def test_get_says_where_it_found_a_value_and_how_stale_it_is() -> None:
    async def scenario() -> None:
        async with masters() as m, m.connect("bilbo") as b, m.connect("heron") as h:
            await h.publish("k", b"v", domain=RUGBY)
            [direct] = await b.get("k", domain=RUGBY)
            assert (direct.source, direct.stale) == ("heron", None)
            async with b.subscribe("k", domain=RUGBY) as sub:
                await take(sub, 1)
                [cached] = await b.get("k", domain=RUGBY)
                [fresh] = await b.get("k", domain=RUGBY, fresh=True)
                assert (cached.source, cached.stale) == ("bilbo", None)
                assert (fresh.source, fresh.stale, fresh.content) == ("heron", None, b"v")
                await m.stop("heron")
                await m.stop("frodo")
                [stale] = await b.get("k", domain=RUGBY)
                assert (stale.source, stale.content) == ("bilbo", b"v")
                assert stale.stale is not None and stale.stale > 0
                with pytest.raises(MasterAway):
                    await b.get("unknown", domain=RUGBY)

    asyncio.run(scenario())


def test_route_tells_each_hop_without_sending_anything() -> None:
    async def scenario() -> None:
        async with masters() as m, m.connect("bilbo") as b:
            steps = await b.route("k", domain=RUGBY)
            assert [(s["node"], s["decision"], s["next"]) for s in steps] == [
                ("bilbo", "forward", "frodo"),
                ("frodo", "forward", "heron"),
                ("heron", "here", ""),
            ]
            assert all(s["why"] for s in steps)
            assert (await b.route("k", domain=RUGBY, node="heron"))[0]["decision"] == "here"
            [step] = await b.route("k", domain="SOCCER")
            assert (step["node"], step["decision"]) == ("bilbo", "wait")
            [step] = await b.route(to="/node/nowhere/client/joe")
            assert step["decision"] in ("refuse", "wait")
            with pytest.raises(BadQuery):
                await b.route()
            assert m.metric("heron", "published") == 0

    asyncio.run(scenario())
