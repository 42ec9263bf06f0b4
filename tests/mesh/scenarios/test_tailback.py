"""What becomes of messages that wait for a way or a master that is away? On nodes in one loop."""

import asyncio
from typing import Any

import pytest

from mesh.errors import Expired, MasterAway, NotConnected, TailBackFull
from mesh.values import Published
from tests.mesh.meshes import eventually, take
from tests.mesh.scenarios.hearing import hearing, nothing_more
from tests.mesh.scenarios.topology import BILBO, FRODO, RUGBY, a0, loop_of

CHAIN = a0("heron", "frodo", "bilbo")
SMALL = {**CHAIN, "bilbo": f"{BILBO}\n[limits]\ntailback_count = 3\n"}
DEAD = "__sys__deadMessage/#"


@pytest.mark.parametrize("persistent", [True, False])
def test_a_queue_past_its_bound_refuses_by_name_and_loses_nothing_that_it_took(persistent: bool) -> None:
    async def story() -> None:
        async with loop_of(SMALL) as c:
            async with c.connect("bilbo") as b, c.connect("heron") as h, hearing(h, "K", RUGBY) as ear:
                qos: dict[str, Any] = {"domain": RUGBY, "persistent": persistent}
                await c.stop("frodo")
                taken = [await b.publish("K", b"%d" % number, **qos) for number in range(3)]
                assert {each.state for each in taken} == {"FORWARD_WARNING"}
                for content in (b"3", b"4"):
                    with pytest.raises(
                        TailBackFull, match="3 messages wait at bilbo, and there is no room for 1"
                    ):
                        await b.publish("K", content, **qos)
                await c.start("frodo", FRODO)
                assert {(await b.final(each)).state for each in taken} == {"OK"}
                assert (await b.publish("K", b"5", **qos)).ok
                await nothing_more(b, ear, domain=RUGBY)
                assert ear.contents == [b"0", b"1", b"2", b"5"]
                assert c.metric("bilbo", "tailed_back") == 0

    asyncio.run(story())


def test_of_many_at_once_exactly_those_arrive_that_were_not_refused() -> None:
    async def story() -> None:
        async with loop_of(SMALL) as c:
            async with c.connect("bilbo") as b, c.connect("heron") as h, hearing(h, "K", RUGBY) as ear:
                await c.stop("frodo")
                results = await asyncio.gather(
                    *(b.publish("K", b"%d" % n, domain=RUGBY, persistent=n % 2 == 0) for n in range(20)),
                    return_exceptions=True,
                )
                kept = [n for n, result in enumerate(results) if isinstance(result, Published)]
                refused = [result for result in results if isinstance(result, TailBackFull)]
                assert (len(kept), len(refused)) == (3, 17)
                await c.start("frodo", FRODO)
                for n in kept:
                    assert (await b.final(results[n])).ok  # type: ignore[arg-type]
                await nothing_more(b, ear, domain=RUGBY)
                assert ear.contents == [b"%d" % n for n in kept]

    asyncio.run(story())


def test_what_expires_while_it_waits_is_a_dead_letter_with_its_story_in_the_headers() -> None:
    async def story() -> None:
        async with loop_of(CHAIN) as c:
            async with (
                c.connect("bilbo") as b,
                c.connect("heron") as h,
                hearing(h, "K", RUGBY) as ear,
                b.subscribe(pattern=DEAD) as letters,
            ):
                await c.stop("frodo")
                headers = {"colour": "red"}
                short = await b.publish("K", b"short", domain=RUGBY, expiry=2.0, headers=headers)
                long = await b.publish("K", b"long", domain=RUGBY, expiry=60)
                assert short.state == long.state == "FORWARD_WARNING"
                [letter] = await take(letters, 1)
                assert (letter.key, letter.domain) == (f"__sys__deadMessage/{short.id}", "")
                assert (letter.content, letter.headers["colour"]) == (b"short", "red")
                dead = {name: value for name, value in letter.headers.items() if name.startswith("dead-")}
                assert dead.pop("dead-reason").startswith("it waited at bilbo for frodo too long")
                assert dead == {
                    "dead-code": "EXPIRED",
                    "dead-id": short.id,
                    "dead-key": "K",
                    "dead-domain": RUGBY,
                    "dead-sender": b.name,
                    "dead-to": "",
                }
                with pytest.raises(Expired):
                    await b.final(short)
                await c.start("frodo", FRODO)
                assert (await b.final(long)).ok
                await nothing_more(b, ear, domain=RUGBY)
                assert ear.contents == [b"long"]
                # The letter can be asked for, and taken away as any topic.
                assert [m.content for m in await b.get(letter.key)] == [b"short"]
                assert await b.erase(letter.key) == [letter.key]

    asyncio.run(story())


def test_what_its_master_refuses_in_the_end_is_a_dead_letter_and_the_rest_moves_on() -> None:
    async def story() -> None:
        async with loop_of(CHAIN) as c:
            async with (
                c.connect("bilbo") as b,
                c.connect("heron", client="joe", session=1) as joe,
                joe.inbox() as inbox,
                b.subscribe(pattern=DEAD) as letters,
            ):
                events = b.events()
                heard = asyncio.ensure_future(anext(events))
                await c.stop("frodo")
                nobody = "/node/heron/client/nobody/session/1"
                lost = await b.send(nobody, b"1", domain=RUGBY)
                sent = await b.send(joe.name, b"2", domain=RUGBY)
                assert lost.state == sent.state == "FORWARD_WARNING"
                await c.start("frodo", FRODO)
                assert [m.content for m in await take(inbox, 1)] == [b"2"]
                assert (await b.final(sent)).matched == 1
                [letter] = await take(letters, 1)
                assert (letter.headers["dead-code"], letter.headers["dead-to"]) == ("NOT_CONNECTED", nobody)
                event = await heard
                assert event.kind == "refused-later" and lost.id in event.text
                with pytest.raises(NotConnected):
                    await b.final(lost)

    asyncio.run(story())


def test_who_asks_meanwhile_hears_how_old_it_is_or_that_the_master_is_away() -> None:
    async def story() -> None:
        async with loop_of(CHAIN) as c:
            async with c.connect("bilbo") as b, hearing(b, "K", RUGBY) as ear:
                await b.publish("K", b"cached", domain=RUGBY)
                await b.publish("K2", b"not cached", domain=RUGBY)
                await ear.heard(1)
                await c.stop("frodo")
                await eventually(lambda: c.metric("bilbo", "data_links") == 0)
                [message] = await b.get("K", domain=RUGBY)
                assert (message.content, message.source) == (b"cached", "bilbo")
                assert message.stale is not None and 0 <= message.stale < 60
                for asked in (b.get("K2", domain=RUGBY), b.get("K", domain=RUGBY, fresh=True)):
                    with pytest.raises(MasterAway, match="frodo cannot be reached"):
                        await asked
                with pytest.raises(MasterAway, match="K was not erased"):
                    await b.erase("K", domain=RUGBY)
                await c.start("frodo", FRODO)
                await eventually(lambda: c.metric("bilbo", "data_links") == 1)
                [message] = await b.get("K", domain=RUGBY, fresh=True)
                assert (message.content, message.source, message.stale) == (b"cached", "heron", None)
                assert await b.erase("K", domain=RUGBY) == ["K"]
                await ear.heard(2)
                assert ear.messages[-1].state == "ERASED"

    asyncio.run(story())
