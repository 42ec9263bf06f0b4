"""Clients that work while the nodes of a mesh are restarted one by one, and the check of their messages."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any

import mesh
from mesh.errors import MeshError

RULED, OPEN = "NEWS", "LOCAL"  # a domain with a master by a rule, and one without
KEY, QUEUE, ADDRESS = "rolling", "rolling-jobs", "rolling/calc"
PAUSE = 0.02  # s between two messages of a client
LIMIT = 30.0  # s for the last messages
Connect = Callable[[str, str], mesh.Client]  # node and name of the client


@dataclass(slots=True)
class Outcome:
    """The work and the results of the clients. Times are in s."""

    published: Counter[tuple[str, str]] = field(default_factory=Counter)  # by publisher and domain
    received: dict[str, dict[tuple[str, str], list[int]]] = field(default_factory=dict)  # by subscriber
    put: int = 0
    jobs: Counter[int] = field(default_factory=Counter)  # acknowledged, by number
    replies: int = 0
    errors: list[str] = field(default_factory=list)
    longest: dict[str, float] = field(default_factory=lambda: defaultdict(float))  # by kind of work

    def is_complete(self) -> bool:
        """Return whether all subscribers have all messages, and all jobs were acknowledged."""
        wanted = {stream: count for stream, count in self.published.items() if count}
        counts = [{stream: len(set(n)) for stream, n in got.items()} for got in self.received.values()]
        return all(each == wanted for each in counts) and len(self.jobs) == self.put

    def flaws(self) -> list[str]:
        """Return the losses, repeats, disorders and failures, as texts."""
        found = [f"error: {text}" for text in self.errors]
        for subscriber, streams in self.received.items():
            for (publisher, domain), count in self.published.items():
                numbers = streams.get((publisher, domain), [])
                name = f"{subscriber}, from {publisher} in {domain}"
                if lost := count - len(set(numbers)):
                    found.append(f"{name}: {lost} lost")
                if doubled := len(numbers) - len(set(numbers)):
                    found.append(f"{name}: {doubled} doubled")
                if domain == RULED and numbers != sorted(numbers):
                    found.append(f"{name}: out of order")
        if lost := self.put - len(self.jobs):
            found.append(f"queue: {lost} lost")
        if doubled := sum(self.jobs.values()) - len(self.jobs):
            found.append(f"queue: {doubled} acknowledged twice")
        return found


class RollingLoad:
    """Publishers, subscribers, consumers, services and requesters: one of each at each node of `names`."""

    def __init__(self, connect: Connect, names: Sequence[str]) -> None:
        self.outcome = Outcome()
        self.clients: dict[str, mesh.Client] = {}
        self._connect, self._names = connect, names
        self._is_over = False
        self._complete = asyncio.Event()  # nothing is missing, after the last message was sent

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[Outcome]:
        """Let the clients work during the block, and wait for all messages after it."""
        async with AsyncExitStack() as stack, asyncio.TaskGroup() as readers:
            tasks = [readers.create_task(each) for each in await self._readers(stack)]
            async with asyncio.TaskGroup() as writers:
                for work in await self._writers(stack):
                    writers.create_task(work)
                yield self.outcome
                self._is_over = True
            self._check()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._complete.wait(), LIMIT)
            for task in tasks:
                task.cancel()

    def _check(self) -> None:
        if self._is_over and self.outcome.is_complete():
            self._complete.set()

    async def _client(self, stack: AsyncExitStack, node: str, kind: str) -> mesh.Client:
        name = f"{kind}-{node}"
        client = self.clients[name] = await stack.enter_async_context(self._connect(node, name))
        return client

    async def _readers(self, stack: AsyncExitStack) -> list[Any]:
        found: list[Any] = []
        for node in self._names:
            sub = await self._client(stack, node, "sub")
            for domain in (RULED, OPEN):
                messages = await stack.enter_async_context(sub.subscribe(KEY, domain=domain))
                found.append(self._read(f"sub-{node}", domain, messages))
            con = await self._client(stack, node, "con")
            await con.queue(QUEUE).declare()
            found.append(self._consume(await stack.enter_async_context(con.queue(QUEUE).consume(prefetch=5))))
            srv = await self._client(stack, node, "srv")
            found.append(self._serve(await stack.enter_async_context(srv.serve(ADDRESS))))
        return found

    async def _writers(self, stack: AsyncExitStack) -> list[Any]:
        found: list[Any] = []
        for node in self._names:
            pub, req = await self._client(stack, node, "pub"), await self._client(stack, node, "req")
            found.append(self._repeat("publish", partial(self._publish, pub, node)))
            found.append(self._repeat("request", partial(self._ask, req)))
        put = await self._client(stack, self._names[0], "put")
        found.append(self._repeat("put", partial(self._put, put)))
        return found

    async def _repeat(self, kind: str, once: Callable[[], Awaitable[None]]) -> None:
        while not self._is_over:
            begun = monotonic()
            try:
                await once()
            except MeshError as error:
                self.outcome.errors.append(f"{kind}: {error}")
            self.outcome.longest[kind] = max(self.outcome.longest[kind], monotonic() - begun)
            await asyncio.sleep(PAUSE)

    async def _publish(self, client: mesh.Client, node: str) -> None:
        for domain in (RULED, OPEN):
            content = f"{node} {self.outcome.published[node, domain]}".encode()
            await client.publish(KEY, content, domain=domain, persistent=True, timeout=60)
            self.outcome.published[node, domain] += 1

    async def _put(self, client: mesh.Client) -> None:
        await client.queue(QUEUE).put(b"%d" % self.outcome.put, persistent=True, timeout=60)
        self.outcome.put += 1

    async def _ask(self, client: mesh.Client) -> None:
        await client.request(ADDRESS, b"1", timeout=20)
        self.outcome.replies += 1

    async def _read(self, name: str, domain: str, messages: Any) -> None:
        got = self.outcome.received.setdefault(name, {})
        async for message in messages:
            publisher, number = message.content.decode().split()
            got.setdefault((publisher, domain), []).append(int(number))
            self._check()

    async def _consume(self, jobs: Any) -> None:
        async for job in jobs:
            await job.ack()
            self.outcome.jobs[int(job.content)] += 1
            self._check()

    async def _serve(self, service: Any) -> None:
        async for request in service:
            await request.reply(request.content)
