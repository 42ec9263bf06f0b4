"""A mesh in memory whose nodes can be drained, with clients that work meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from types import SimpleNamespace
from typing import Any

import mesh.testing
from mesh.discovery.state import Sample
from mesh.errors import LocalError, MeshError
from mesh.features.drain.node.node_drain import DrainParts, NodeDrain
from mesh.kernel.context.incoming_call import IncomingCall
from mesh.kernel.context.leaving import Left, Step
from mesh.kernel.parts import Parts
from mesh.wire.calls import AskDrain
from mesh.wire.replies import NodeDrained

NODES = ["heron", "stork", "ibis"]
WHO: Any = SimpleNamespace(text="/node/heron/client/admin", stream=b"")
LOCAL: Any = SimpleNamespace(user="", trusted=True)


class Emptied:
    """A mesh, and the questions about drains of its nodes."""

    def __init__(self, m: mesh.testing.Mesh) -> None:
        self.m = m
        for name in m.nodes:
            self.parts(name).gossiping.sample = lambda: Sample((90.0,), 1 << 30, 2 << 30)

    def parts(self, name: str) -> Parts:
        return self.m._nodes[name].core.parts

    def is_heard(self) -> bool:
        """Return whether all nodes know the states of all others."""
        known = [len(self.parts(name).gossiping.gossip.known) for name in self.m.nodes]
        return min(known) == len(known) - 1

    def ask(self, name: str, do: Any = "look") -> NodeDrained:
        """Ask a node as an operator, without a session. Raises: LocalError."""
        answers: list[Any] = []
        asked = IncomingCall(AskDrain(do=do), 1, WHO, LOCAL, lambda reply, _: answers.append(reply.value))
        components = self.parts(name)[DrainParts].components
        next(each for each in components if isinstance(each, NodeDrain))._on_ask(asked)
        [answer] = answers
        assert isinstance(answer, NodeDrained)
        return answer

    def step(self, name: str) -> Step:
        return self.parts(name).context.leaving.step

    async def until(self, is_true: Callable[[], Any], limit: float = 60.0) -> None:
        """Let time pass until the condition holds."""
        end = self.m.time + limit
        while not is_true():
            assert self.m.time < end, "the condition never held"
            await self.m.pass_time(0.1)

    async def outcome(self, work: Awaitable[Any]) -> Any:
        """Let time pass until the work is done, and return its result."""
        task = asyncio.ensure_future(work)
        await self.until(task.done)
        return task.result()

    async def drained(self, name: str) -> NodeDrained:
        self.ask(name, "begin")
        await self.until(lambda: self.step(name) is Step.DONE)
        return self.ask(name)

    def cut_client(self, name: str, client: str) -> None:
        """Cut the only client of a node from all nodes."""
        net = self.m._passing.net
        [wires] = [pipe.ends[0] for pipe in net.pipes if (pipe.ends[0].name, pipe.ends[1].name) == ("", name)]
        wires.name = client
        for each in NODES:
            net.cut(client, each)

    def hold(self, name: str, step: Step) -> list[Left]:
        """Let a node never complete a step while the returned list is not empty."""
        held = [Left(step, "held by the test", 1)]
        self.parts(name).context.face._remains.append(lambda: iter(held))
        return held


def play(scenario: Callable[[Emptied], Awaitable[None]], nodes: list[str] | None = None) -> None:
    async def within() -> None:
        names = nodes or NODES
        rules = {"ibis": ["NEWS"]} if "ibis" in names else ""
        async with mesh.testing.Mesh(names, rules=rules, clock="virtual") as m:
            it = Emptied(m)
            await it.until(it.is_heard)
            await scenario(it)

    asyncio.run(within())


def home(client: Any) -> str:
    """Return the node at which a client is."""
    line = client._shell.core.line
    return str(line.home) if line.is_up else ""


class Working:
    """Clients that publish, subscribe, put, consume, serve and request until they are stopped."""

    def __init__(self, m: mesh.testing.Mesh, at: str) -> None:
        self.clients = {
            name: m.connect(at, client=name) for name in ("pub", "sub", "put", "con", "srv", "req")
        }
        self.got: list[int] = []
        self.jobs: list[int] = []
        self.replies = self.published = self.queued = 0
        self.errors: list[MeshError] = []
        self.is_over = False

    @contextlib.asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for client in self.clients.values():
                await stack.enter_async_context(client)
            await self.clients["put"].queue("jobs").declare()
            sub = await stack.enter_async_context(self.clients["sub"].subscribe("k", domain="NEWS"))
            service = await stack.enter_async_context(self.clients["srv"].serve("calc"))
            jobs = await stack.enter_async_context(self.clients["con"].queue("jobs").consume(prefetch=5))
            work = [self._read(sub), self._serve(service), self._consume(jobs)]
            readers = [asyncio.create_task(each) for each in work]
            writers = [
                asyncio.create_task(self._repeat(each)) for each in (self._publish, self._put, self._ask)
            ]
            try:
                yield
                self.is_over = True
                await asyncio.gather(*writers)
            finally:
                for task in (*readers, *writers):
                    task.cancel()

    async def _repeat(self, once: Callable[[], Awaitable[None]]) -> None:
        while not self.is_over:
            try:
                await once()
            except MeshError as error:
                self.errors.append(error)
            await asyncio.sleep(0.002)

    async def _publish(self) -> None:
        content = b"%d" % self.published
        await self.clients["pub"].publish("k", content, domain="NEWS", persistent=True)
        self.published += 1

    async def _put(self) -> None:
        await self.clients["put"].queue("jobs").put(b"%d" % self.queued, persistent=True)
        self.queued += 1

    async def _ask(self) -> None:
        await self.clients["req"].request("calc", b"7")
        self.replies += 1

    async def _read(self, sub: Any) -> None:
        async for message in sub:
            self.got.append(int(message.content))

    async def _consume(self, jobs: Any) -> None:
        async for job in jobs:
            self.jobs.append(int(job.content))
            await job.ack()

    async def _serve(self, service: Any) -> None:
        async for request in service:
            await request.reply(request.content)


@contextlib.contextmanager
def refused(code: str) -> Iterator[list[LocalError]]:
    """Expect a LocalError with that code, and yield a list to which it is appended."""
    found: list[LocalError] = []
    try:
        yield found
    except LocalError as error:
        assert error.code == code
        found.append(error)
    assert found, "nothing was refused"
