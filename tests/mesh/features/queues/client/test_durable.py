"""Durable subscriptions as user code writes them, on real nodes in memory."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

import mesh
from mesh.client.client import Client
from mesh.errors import (
    BadArgument,
    BadName,
    BadQuery,
    BadSelector,
    Closed,
    MeshError,
    NoQueue,
    NotAvailable,
    QueueExists,
    QueueInUse,
)
from tests.mesh.client.queues import run
from tests.mesh.meshes import in_memory, passing
from tests.mesh.running import LIMIT


@dataclass
class Bird:
    name: str


async def taken(jobs: mesh.Consumer[Any], n: int) -> list[str]:
    """Ack the next `n` messages, and return their texts."""
    found: list[str] = []
    async with asyncio.timeout(LIMIT):
        async for job in jobs:
            async with job:
                found.append(job.text)
            if len(found) == n:
                break
    return found


async def ready(m: Client, name: str) -> int:
    return (await m.queue(f"sub/{name}").info()).ready


NUMBERS = [str(n) for n in range(40)]


def test_what_comes_while_nobody_is_there_is_kept_until_it_is_acked() -> None:
    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as ma:
            async with ma.subscribe(pattern="birds/#", durable="audit"):
                pass
            for text in ("one", "two", "three"):
                await ma.publish("birds/heron", text)
            await ma.publish("cars", "no")
            async with ma.subscribe(pattern="birds/#", durable="audit") as jobs:
                job = await anext(jobs)
                assert (job.text, job.key, job.attempt, job.state) == ("one", "birds/heron", 1, "OK")
                await job.nack()
                assert await taken(jobs, 3) == ["two", "three", "one"], "as of a queue"
            assert await ready(ma, "audit") == 0

    run(scenario)


def test_B6_a_subscriber_at_the_master_gets_all_of_a_shared_one_in_order() -> None:
    async def scenario() -> None:
        async with in_memory("a", "b") as m, m.connect("a") as ma, m.connect("b") as mb:
            async with ma.subscribe("k", durable="beta") as here, mb.subscribe("k", durable="beta") as there:
                for text in NUMBERS:
                    await ma.publish("k", text)
                nothing = asyncio.ensure_future(anext(there))
                assert await taken(here, 40) == NUMBERS
                await m.pass_time(1)
                assert not nothing.done() and await ready(ma, "beta") == 0
                nothing.cancel()

    run(scenario)


@pytest.mark.parametrize("domain", [None, "NEWS"])
def test_B5_where_nobody_takes_at_the_master_it_goes_to_those_who_take_elsewhere(domain: str | None) -> None:
    async def scenario() -> None:
        async with (
            in_memory("a", "b", "c") as m,
            m.connect("a") as ma,
            m.connect("b") as mb,
            m.connect("c") as mc,
            mb.subscribe("k", domain=domain, durable="beta") as one,
            mc.subscribe("k", domain=domain, durable="beta") as two,
        ):
            for text in NUMBERS:
                await ma.publish("k", text, domain=domain)
            found = await asyncio.gather(taken(one, 20), taken(two, 20))
            assert sorted(found) == sorted([NUMBERS[::2], NUMBERS[1::2]]), "each in order"

    run(scenario)


def test_what_waited_moves_to_where_somebody_comes() -> None:
    async def scenario() -> None:
        async with in_memory("a", "b") as m, m.connect("a") as ma, m.connect("b") as mb:
            async with mb.subscribe("k", domain="NEWS", durable="audit"):
                pass
            sent = [await ma.publish("k", text, domain="NEWS") for text in NUMBERS]
            async with mb.subscribe("k", domain="NEWS", durable="audit") as jobs:
                job = await passing(m, anext(jobs))
                assert (job.text, job.domain, job.sender) == ("0", "NEWS", ma.name) and sent[0].ok
                await job.ack()
                assert await passing(m, taken(jobs, 39)) == NUMBERS[1:]

    run(scenario)


def test_messages_of_two_domains_are_told_apart() -> None:
    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as ma:
            async with ma.subscribe(pattern="#", durable="all") as jobs:
                for domain in (None, "NEWS", "WEATHER"):
                    await ma.publish("k", "x", domain=domain)
                found = [await anext(jobs) for _ in range(3)]
                assert len({(job._envelope.stream, job._envelope.first) for job in found}) == 3
                assert [job.domain for job in found] == ["", "NEWS", "WEATHER"]
                for job in found:
                    await job.ack()

    run(scenario)


def test_C28_subscriptions_of_two_names_each_get_all() -> None:
    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as ma:
            async with ma.subscribe("k", durable="queue0") as one, ma.subscribe("k", durable="queue1") as two:
                await ma.publish_many("k", NUMBERS[:10])
                assert await taken(one, 10) == await taken(two, 10) == NUMBERS[:10]

    run(scenario)


def test_of_one_name_each_message_goes_to_one_and_it_may_be_chosen_and_typed() -> None:
    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as ma, m.connect("a") as mb:
            topics, name = ["birds/#", "fish"], "zoo/birds"
            is_fish, is_none = 'key == "fish"', 'key != "fish"'
            async with (
                ma.subscribe(pattern=topics, durable=name, selector=is_fish, max_queue=1) as fish,
                mb.subscribe(pattern=topics, durable=name, selector=is_none, type=Bird) as birds,
            ):
                await ma.publish("fish", {"name": "trout"})
                await ma.publish("birds/a", {"name": "heron"})
                job = await anext(birds)
                assert job.value == Bird("heron") and await taken(fish, 1) == ['{"name":"trout"}']
                await job.ack()

    run(scenario)


def test_it_ends_for_all_by_its_name_but_not_while_somebody_subscribes_anywhere() -> None:
    async def scenario() -> None:
        async with in_memory("a", "b") as m, m.connect("a") as ma, m.connect("b") as mb:
            async with mb.subscribe("k", durable="audit") as jobs:
                with pytest.raises(QueueInUse, match="The durable subscription 'audit' has 1 consumer"):
                    await ma.unsubscribe("audit")
                await mb.unsubscribe(jobs)
            await ma.publish("k", "gone")
            await ma.unsubscribe("audit")
            for client in (ma, mb):
                with pytest.raises(NoQueue, match="The durable subscription 'audit'"):
                    await client.unsubscribe("audit")
            async with ma.subscribe("other", durable="audit"):
                assert await ready(ma, "audit") == 0

    run(scenario)


def test_one_name_stands_for_one_query() -> None:
    async def scenario() -> None:
        async with in_memory("a", "b") as m, m.connect("a") as ma, m.connect("b") as mb:
            async with ma.subscribe("k", durable="audit"):
                with pytest.raises(QueueExists, match="has the query k, not k in domain NEWS"):
                    async with mb.subscribe("k", domain="NEWS", durable="audit"):
                        pass
                one = mb.subscribe("k", durable="audit")
                async with one:
                    pass
                with pytest.raises(Closed, match="opened before"):
                    await one.__aenter__()

    run(scenario)


def test_its_queue_can_be_looked_at_and_emptied_and_nothing_else() -> None:
    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as ma:
            async with ma.subscribe("k", durable="audit"):
                pass
            await ma.publish("k", "one")
            q = ma.queue("sub/audit")
            assert [message.text for message in await q.peek()] == ["one"]
            assert (await q.info()).queries == [("exact", "k", "")]
            for verb in (lambda: q.put("two"), q.declare, lambda: q.delete(if_unused=False)):
                with pytest.raises(MeshError) as caught:
                    await verb()
                assert caught.value.code == "BAD_NAME"
            assert await q.purge() == 1 and await ready(ma, "audit") == 0

    run(scenario)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"durable": ""}, BadName),
        ({"durable": "a/+"}, BadName),
        ({"durable": "sub/a"}, BadName),
        ({"durable": "x" * 197}, BadName),
        ({"durable": 5}, MeshError),
        ({"durable": "\ud800"}, MeshError),
        ({"durable": "a", "group": "g"}, BadArgument),
        ({"durable": "a", "overflow": "error"}, BadArgument),
        ({"durable": "a", "max_queue": -1}, BadArgument),
        ({"durable": "a", "max_queue": 1001}, BadArgument),
        ({"durable": "a", "max_queue": float("nan")}, BadArgument),
        ({"durable": "a", "selector": "key =="}, BadSelector),
        ({"durable": "a", "initial": "no"}, BadArgument),
        ({"selector": "priority > 3"}, BadArgument),
        ({"durable": "a", "key": "__sys__dead"}, BadQuery),
        ({"durable": "a", "key": None, "xpath": "//a"}, NotAvailable),
        ({"durable": "a", "key": None}, BadQuery),
    ],
)
def test_what_cannot_be_is_refused_at_the_call(options: dict[str, Any], kind: type[Exception]) -> None:
    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as ma:
            with pytest.raises(kind):
                ma.subscribe(**{"key": "k", **options})

    run(scenario)
