"""Numbered messages during faults, and a check that each answered one arrived once and in order.

    async with traffic({"heron": h, "stork": s}, {"egret": e}) as t:
        heron.kill() ...
        await t.settled()

Each publisher posts numbers from 1 on, without waiting for answers. Each ear receives all of them. At the end
every publisher posts an end mark on its own topic. An ear that has all end marks has received everything
that was in transit to it.
"""

import asyncio
import secrets
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import pairwise

from mesh.client.client import Client
from mesh.client.receipt import Receipt
from mesh.client.subscription import Subscription
from mesh.errors import PublishRefused, WouldBlock
from tests.waiting import LIMIT, eventually

TURN = 0.02  # s between posts
PROMISED = ("OK", "FORWARD_WARNING")


class Source:
    """A publisher. After `settled`, `answered` has the numbers that were promised."""

    def __init__(self, name: str, client: Client, topic: str, rate: float) -> None:
        self.name, self.client = name, client
        self.posted = 0
        self.answered: set[int] = set()
        self._topic, self._rate = f"{topic}/{name}", rate
        self._receipts: list[tuple[int, Receipt]] = []
        self._stopping = False

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        start = loop.time()
        while not self._stopping:
            due = int((loop.time() - start) * self._rate)
            while self.posted < due and await self._post(b"%d" % (self.posted + 1)):
                pass
            await asyncio.sleep(TURN)

    async def _post(self, content: bytes) -> bool:
        try:
            receipt = self.client.post(self._topic, content, persistent=True)
        except WouldBlock:
            return False
        self.posted += 1
        self._receipts.append((self.posted, receipt))
        return True

    async def last_word(self) -> None:
        """Post no more, wait for all answers, and publish the end mark."""
        self._stopping = True
        for number, receipt in self._receipts:
            try:
                if (await receipt).state in PROMISED:
                    self.answered.add(number)
            except PublishRefused:
                pass
        await self.client.publish(self._topic, b"end", persistent=True)


class Ear:
    """The numbers that one subscriber has received, by publisher, in order of arrival."""

    def __init__(self, name: str, subscription: Subscription) -> None:
        self.name = name
        self.subscription = subscription
        self.heard: dict[str, list[int]] = defaultdict(list)
        self.ended: set[str] = set()

    async def listen(self) -> None:
        async for message in self.subscription:
            publisher = message.key.rpartition("/")[2]
            if message.content == b"end":
                self.ended.add(publisher)
            else:
                self.heard[publisher].append(int(message.content))

    def wrong(self, source: Source) -> list[str]:
        """Return the faults in what the ear has received from that publisher."""
        came = self.heard[source.name]
        found = {
            "lost": sorted(source.answered - set(came)),
            "doubled": [n for n, times in Counter(came).items() if times > 1],
            "out of order": [b for a, b in pairwise(came) if b < a],
            "never posted": [n for n in came if n > source.posted],
        }
        return [f"{source.name} -> {self.name}: {what} {them}" for what, them in found.items() if them]


class Traffic:
    """All publishers and subscribers of a test."""

    def __init__(self, sources: list[Source], ears: list[Ear]) -> None:
        self.sources, self.ears = sources, ears

    async def heard_more(self, count: int = 1, publisher: str | None = None) -> None:
        """Wait until each ear has `count` more messages of each publisher, or of that one."""
        wanted = [s.name for s in self.sources if publisher in (None, s.name)]
        goals = {(ear.name, name): len(ear.heard[name]) + count for ear in self.ears for name in wanted}
        await self.until(lambda: all(len(e.heard[n]) >= goals[e.name, n] for e in self.ears for n in wanted))

    async def post_more(self, count: int) -> None:
        """Wait until each publisher has posted `count` more messages."""
        goals = {source.name: source.posted + count for source in self.sources}
        await self.until(lambda: all(source.posted >= goals[source.name] for source in self.sources))

    async def settled(self) -> None:
        """End the traffic: wait until everything was answered and has arrived, and check it."""
        await asyncio.gather(*(source.last_word() for source in self.sources))
        names = {source.name for source in self.sources}
        await self.until(lambda: all(ear.ended == names for ear in self.ears))
        wrong = [line for ear in self.ears for source in self.sources for line in ear.wrong(source)]
        assert wrong == []
        assert [ear.name for ear in self.ears if ear.subscription.dropped] == []
        assert all(len(source.answered) == source.posted > 0 for source in self.sources)

    async def until(self, condition: Callable[[], object]) -> None:
        try:
            await eventually(condition)
        except AssertionError:
            heard = {e.name: {n: len(them) for n, them in e.heard.items()} for e in self.ears}
            posted = {s.name: s.posted for s in self.sources}
            raise AssertionError(f"not within {LIMIT:g} s: posted {posted}, heard {heard}") from None


@asynccontextmanager
async def traffic(
    publishers: Mapping[str, Client], ears: Mapping[str, Client], rate: float = 50.0
) -> AsyncIterator[Traffic]:
    """Publish `rate` messages a second from each of these publishers to each of these ears."""
    topic = f"traffic/{secrets.token_hex(4)}"
    sources = [Source(name, client, topic, rate) for name, client in publishers.items()]
    async with AsyncExitStack() as stack:
        hearing = []
        for name, client in ears.items():
            subscription = await stack.enter_async_context(client.subscribe(pattern=f"{topic}/#"))
            hearing.append(Ear(name, subscription))
        made = Traffic(sources, hearing)
        tasks = [
            asyncio.create_task(task)
            for task in (*(s.run() for s in sources), *(e.listen() for e in hearing))
        ]
        try:
            await made.heard_more()
            yield made
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
