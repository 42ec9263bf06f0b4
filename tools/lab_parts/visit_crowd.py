"""A hundred clients of three nodes, in one process: each publishes, subscribes, consumes or requests."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

import mesh
from mesh.errors import MeshError

KEY, WORK, ADDRESS = "visits", "visited", "visited/echo"
PAUSE = 0.2  # s between two messages of a client
TIMEOUT = 60.0  # s for one call
LOOK = 0.1  # s between two looks at the delay of the event loop


@dataclass(slots=True)
class Member:
    """A client, with the times at which it was served."""

    client: mesh.Client
    name: str
    served: list[float] = field(default_factory=list)

    @property
    def node(self) -> str:
        return self.client._shell.core.line.home

    def is_served(self) -> None:
        self.served.append(time.monotonic())


@dataclass
class VisitBook:
    """The acknowledged messages, and the messages of each receiver."""

    published: set[str] = field(default_factory=set)
    put: set[str] = field(default_factory=set)
    got: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))  # text, master
    late: int = 0  # messages with that mark
    unmarked: list[str] = field(default_factory=list)  # late messages without it
    tops: Counter[tuple[str, str]] = field(default_factory=Counter)  # highest number by subscriber, publisher
    taken: Counter[str] = field(default_factory=Counter)
    unflagged: list[str] = field(default_factory=list)  # jobs that came again without a mark
    errors: Counter[str] = field(default_factory=Counter)

    def receive(self, subscriber: str, text: str, master: str, is_late: bool) -> None:
        """Record a message, and check that it is marked if a newer one of its publisher came before."""
        publisher, _, number = text.partition(":")
        if int(number) < self.tops[subscriber, publisher] and not is_late:
            self.unmarked.append(text)
        self.tops[subscriber, publisher] = max(self.tops[subscriber, publisher], int(number))
        self.late += is_late
        self.got[subscriber].append((text, master))

    def anomalies(self, subscribers: Sequence[str]) -> dict[str, int]:
        """Return the number of anomalies of each kind."""
        lost = doubled = out_of_order = 0
        for name in subscribers:
            texts = [text for text, _ in self.got[name]]
            lost += len(self.published - set(texts))
            doubled += len(texts) - len(set(texts))
            last: dict[tuple[str, str], int] = {}
            for text, master in self.got[name]:
                publisher, _, number = text.partition(":")
                out_of_order += int(number) < last.get((publisher, master), 0)
                last[publisher, master] = int(number)
        return {
            "lost": lost,
            "doubled": doubled,
            "out of order": out_of_order,
            "late without the mark": len(self.unmarked),
            "jobs lost": len(self.put - self.taken.keys()),
            "jobs doubled": len(self.unflagged),
        }


class VisitCrowd:
    """The clients of a run, at the nodes `names` of the mesh in the state directory `place`."""

    def __init__(self, place: str, cluster: str, names: Sequence[str], size: int) -> None:
        self.book = VisitBook()
        self.members: list[Member] = []
        self.is_over = False
        self.replies: list[float] = []  # s of each request
        self.delays: list[float] = []  # s by which the event loop of the crowd was late
        self._names, self._size = names, size
        self._options: Any = {"environ": {"MESH_STATE_DIR": place}, "cluster": cluster, "timeout": TIMEOUT}
        self._subscribed = asyncio.Event()  # publishers wait until all have subscribed
        self._roles = (self._publish, self._subscribe, self._consume, self._request)

    @contextlib.asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Connect all clients, let them work inside, and wait until the last message has been answered."""
        async with contextlib.AsyncExitStack() as stack:
            for n in range(self._size):
                order = [self._names[(n + i) % len(self._names)] for i in range(len(self._names))]
                name = f"{self._roles[n % 4].__name__[1:]}-{n}"
                client = await stack.enter_async_context(mesh.connect(*order, client=name, **self._options))
                self.members.append(Member(client, name))
            readers = [asyncio.create_task(self._roles[n % 4](it)) for n, it in enumerate(self.members)]
            clock = asyncio.create_task(self._measure_delay())
            yield
            self.is_over = True
            clock.cancel()
            ends = [task for n, task in enumerate(readers) if n % 4 in (0, 3)]
            await asyncio.wait_for(asyncio.gather(*ends), TIMEOUT)
            await self._await_rest()
            for task in readers:
                task.cancel()
            found = await asyncio.gather(*readers, return_exceptions=True)
            for error in found:
                if isinstance(error, Exception):
                    raise error

    async def _measure_delay(self) -> None:
        """Record how late the event loop is, as on a busy machine."""
        while True:
            due = time.monotonic() + LOOK
            await asyncio.sleep(LOOK)
            self.delays.append(time.monotonic() - due)

    async def _await_rest(self) -> None:
        """Wait until everything acknowledged has come, for TIMEOUT s at most."""
        for _ in range(round(TIMEOUT / PAUSE)):
            found = self.book.anomalies(self.subscribers)
            if not (found["lost"] or found["jobs lost"]):
                return
            await asyncio.sleep(PAUSE)

    @property
    def subscribers(self) -> list[str]:
        return [it.name for it in self.members if it.name.startswith("subscribe")]

    async def _repeat(self, it: Member, act: Callable[[str], Coroutine[Any, Any, object]]) -> None:
        number = 0
        while not self.is_over:
            number += 1
            try:
                await act(f"{it.name}:{number}")
                it.is_served()
            except MeshError as error:
                self.book.errors[f"{it.name.partition('-')[0]} {error.code}"] += 1
            await asyncio.sleep(PAUSE)

    async def _publish(self, it: Member) -> None:
        async def publish(text: str) -> None:
            await it.client.publish(KEY, text.encode(), persistent=True)
            self.book.published.add(text)

        await self._subscribed.wait()
        await self._repeat(it, publish)

    async def _subscribe(self, it: Member) -> None:
        async with it.client.subscribe(KEY, initial=False) as messages:
            self.book.got[it.name] = []
            if len(self.book.got) == len(self.subscribers):
                self._subscribed.set()
            async for message in messages:
                master = [hop.node for hop in message.route if hop.stratum == 0][-1]
                self.book.receive(it.name, message.text, master, message.late)
                it.is_served()

    async def _consume(self, it: Member) -> None:
        queue = it.client.queue(WORK)
        async with queue.consume(prefetch=4) as jobs:
            async for job in jobs:
                async with job:
                    if self.book.taken[job.text] and not job.redelivered:
                        self.book.unflagged.append(job.text)
                    self.book.taken[job.text] += 1
                it.is_served()

    async def _request(self, it: Member) -> None:
        """Request from the other clients of this kind, and put a job for each reply."""

        async def request(text: str) -> None:
            sent = time.monotonic()
            reply = await it.client.request(ADDRESS, text.encode(), timeout=5.0)
            self.replies.append(time.monotonic() - sent)
            assert reply.text == text, "a reply belongs to its request"
            await it.client.queue(WORK).put(text.encode())
            self.book.put.add(text)

        async with it.client.serve(ADDRESS) as requests:
            serving = asyncio.create_task(_echo(requests))
            await self._repeat(it, request)
            serving.cancel()


async def _echo(requests: Any) -> None:
    async for request in requests:
        await request.reply(request.content)
