"""Rows 1 to 4: nodes that die at named points.

In all of them every message that was answered is there once, in its publisher's order.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

import mesh
from mesh.client.client import Client
from mesh.values import Published
from tests.mesh.rows.dying import dies_and_returns
from tests.mesh.running import RunningNode, running
from tests.mesh.scenarios.hearing import hearing, nothing_more
from tests.mesh.scenarios.topology import RUGBY, Processes, a0, processes_of

WORDS = [b"%d" % number for number in range(6)]
THIRD = 3  # the pass at which the node dies, after two others


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[RunningNode, RunningNode]]:
    """Two nodes, each the master of its own messages."""
    with running("heron") as heron, running("stork", beside=heron) as stork:
        yield heron, stork


@pytest.fixture(scope="module")
def chain() -> Iterator[Processes]:
    """The chain bilbo -> frodo -> heron, whose last node is the master."""
    with processes_of(a0("heron", "frodo", "bilbo")) as made:
        yield made


async def one_by_one(publisher: Client, key: str, domain: str | None = None) -> list[Published]:
    return [await publisher.publish(key, word, domain=domain, persistent=True) for word in WORDS]


async def counted(client: Client, *metrics: str) -> tuple[int, ...]:
    """Return counters of the client's node since its start."""
    found = (await client.call("info"))["metrics"]
    return tuple(found.get(metric, 0) for metric in metrics)


@asynccontextmanager
async def each_word_once(at: Client, publisher: Client, key: str, domain: str | None) -> AsyncIterator[None]:
    """Check that a subscriber at `at` and its node receive each word once, in order.

    The block inside publishes the words.
    """
    async with hearing(at, key, domain) as ear:
        before = await counted(at, "published", "relayed")
        yield
        await ear.heard(len(WORDS))
        await nothing_more(publisher, ear, domain=domain)
        assert ear.contents == WORDS
        after = await counted(at, "published", "relayed")
        assert sum(after) - sum(before) == len(WORDS) + 1  # with the mark behind them


# Point -> (messages that the next boot accepts as new, messages that it accepts as repeated).
INGRESS = {"commit.before": (4, 0), "commit.after": (3, 1), "answer.before": (3, 1), "answer.after": (3, 0)}


@pytest.mark.smoke
@pytest.mark.parametrize("point", INGRESS)
def test_row_01_02_a_publish_is_there_once_when_its_node_dies_around_commit_or_answer(
    pair: tuple[RunningNode, RunningNode], point: str
) -> None:
    heron, stork = pair

    async def scenario() -> None:
        async with (
            mesh.connect("heron", environ=heron.environ) as h,
            mesh.connect("stork", environ=stork.environ) as s,
            each_word_once(s, h, point, None),
        ):
            async with dies_and_returns(heron, f"{point}:{THIRD}"):
                publishing = asyncio.create_task(one_by_one(h, point))
            assert {published.state for published in await publishing} == {"OK"}
            assert await counted(h, "published", "repeated") == INGRESS[point]
            assert [message.content for message in await h.get(point)] == WORDS[-1:]

    asyncio.run(scenario())


@pytest.mark.parametrize("point", ["forward.before", "forward.after", "answer.before", "answer.after"])
def test_row_03_what_was_warned_is_forwarded_once_when_its_node_dies_around_it(
    chain: Processes, point: str
) -> None:
    bilbo, frodo, key = chain["bilbo"], chain["frodo"], f"warned/{point}"

    async def scenario() -> None:
        async with chain.connect("bilbo") as b, chain.connect("heron") as h, each_word_once(h, b, key, RUGBY):
            frodo.kill()
            if point.startswith("answer"):
                async with dies_and_returns(bilbo, f"{point}:{THIRD}"):
                    publishing = asyncio.create_task(one_by_one(b, key, RUGBY))
                published = await publishing
                await asyncio.to_thread(frodo.start)
            else:
                published = await one_by_one(b, key, RUGBY)
                async with dies_and_returns(bilbo, f"{point}:1"):
                    await asyncio.to_thread(frodo.start)
            assert {each.state for each in published} == {"FORWARD_WARNING"}
            assert {(await b.final(each)).state for each in published} == {"OK"}

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "point", [f"{what}.{when}" for what in ("commit", "outcome", "items") for when in ("before", "after")]
)
def test_row_04_a_forwarded_message_is_there_once_when_its_master_dies_around_it(
    chain: Processes, point: str
) -> None:
    key = f"master/{point}"

    async def scenario() -> None:
        async with chain.connect("bilbo") as b, each_word_once(b, b, key, RUGBY):
            async with dies_and_returns(chain["heron"], f"{point}:1"):
                publishing = asyncio.create_task(one_by_one(b, key, RUGBY))
            published = await publishing
            assert {(await b.final(each)).state for each in published} == {"OK"}

    asyncio.run(scenario())


@pytest.mark.parametrize("point", ["forward.before", "forward.after", "outcome.before", "outcome.after"])
def test_row_04_a_message_is_there_once_when_a_node_on_its_way_dies_around_it(
    chain: Processes, point: str
) -> None:
    key = f"way/{point}"

    async def scenario() -> None:
        async with chain.connect("bilbo") as b, chain.connect("heron") as h, each_word_once(h, b, key, RUGBY):
            async with dies_and_returns(chain["frodo"], f"{point}:1"):
                publishing = asyncio.create_task(one_by_one(b, key, RUGBY))
            published = await publishing
            assert {(await b.final(each)).state for each in published} == {"OK"}

    asyncio.run(scenario())


def test_A4_a_publish_waits_while_the_middle_node_is_killed_and_flows_when_it_is_back(
    chain: Processes,
) -> None:
    async def scenario() -> None:
        async with chain.connect("bilbo") as b, chain.connect("heron") as h, hearing(h, "A4", RUGBY) as ear:
            chain["frodo"].kill()
            assert await h.get("A4", domain=RUGBY) == []
            said = await b.publish("A4", b"We win", domain=RUGBY, persistent=True)
            assert (said.state, ear.contents) == ("FORWARD_WARNING", [])
            await asyncio.to_thread(chain["frodo"].start)
            await ear.heard(1)
            assert (await b.final(said)).state == "OK"
            assert (await b.publish("A4", b"again", domain=RUGBY, persistent=True)).state == "OK"
            await nothing_more(b, ear, domain=RUGBY)
            assert ear.contents == [b"We win", b"again"]

    asyncio.run(scenario())
