"""A client that is moved between nodes in memory, and nodes that end, return and are cut off."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from random import Random
from typing import Any

import pytest

import mesh.testing
from mesh.testing import mesh as testing

CLIENT = "/node/heron/client/joe"
NODES = ["heron", "stork", "ibis"]
MOVING = (
    "visiting_sessions", "sessions_held", "resume_pins", "pinned_envelopes", "resuming", "stored_envelopes",
    "inboxes_owed",
)  # fmt: skip


class Moves:
    """A mesh with a client `joe` that can be sent to another node, and a publisher at each node."""

    sub: Any
    reading: asyncio.Task[None]
    inbox: Any
    opening: asyncio.Task[None]

    def __init__(self, m: mesh.testing.Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
        self.m, self.order = m, list(NODES)
        self.joe = m.connect(NODES[0], client="joe")
        self.publishers = {name: m.connect(name, client="pub") for name in NODES}
        self.got: list[str] = []
        self.direct: list[str] = []  # received direct messages
        self.sent: list[str] = []  # answered ones
        self.answered: list[str] = []
        find = testing.Inhabited.find

        def elsewhere(place: testing.Inhabited, wanted: str) -> str:
            if wanted != NODES[0] or self.is_opening:
                return find(place, wanted)
            up = [name for name in self.order if name in m.nodes and m._nodes[name].is_up]
            return find(place, up[0] if up else "nowhere")

        self.is_opening = True
        monkeypatch.setattr(testing.Inhabited, "find", elsewhere)

    @contextlib.asynccontextmanager
    async def subscribed(self) -> AsyncIterator[Any]:
        async with contextlib.AsyncExitStack() as stack:
            for client in (*self.publishers.values(), self.joe):
                await stack.enter_async_context(client)
            self.is_opening = False
            sub = await stack.enter_async_context(self.joe.subscribe("k", domain="NEWS"))
            inbox = await stack.enter_async_context(self.joe.inbox())
            self.sub, self.reading = sub, asyncio.create_task(self._read(sub, self.got))
            self.inbox, self.opening = inbox, asyncio.create_task(self._read(inbox, self.direct))
            try:
                yield sub
            finally:
                self.reading.cancel()
                self.opening.cancel()

    async def _read(self, sub: Any, got: list[str]) -> None:
        async for message in sub:
            got.append(message.content.decode())

    async def publish(self, node: str, text: str) -> None:
        await self.publishers[node].publish("k", text.encode(), domain="NEWS", persistent=True)
        self.answered.append(text)

    async def send(self, node: str, text: str, to: str = "") -> None:
        to = to or self.joe.name
        await self.publishers[node].send(to, text.encode(), persistent=True, force_queuing=True)
        self.sent.append(text)

    async def send_some(self, dice: Random, first: int) -> list[asyncio.Task[None]]:
        """Send direct messages from one of two nodes to the session, or to the client as a whole."""
        node, to = dice.choice(NODES[1:]), dice.choice(("", CLIENT))
        texts = [f"{node} {'client' if to else 'session'}-{first + n}" for n in range(dice.randint(1, 4))]
        return [asyncio.create_task(self.send(node, text, to)) for text in texts]

    def visit(self, *order: str) -> None:
        """Let joe leave its node, and go to the first of `order` that runs."""
        self.order = list(order)
        self.joe._shell.core.line.lose("moved by the test")

    @property
    def home(self) -> str:
        return self.joe._shell.core.line.home

    def figures(self) -> dict[str, dict[str, float]]:
        """Return what each node still holds for sessions that moved; nothing at the end."""
        found = {name: self.m._nodes[name].core.parts.context.figures() for name in NODES}
        left = {name: {key: of[key] for key in MOVING if of[key]} for name, of in found.items()}
        return {name: of for name, of in left.items() if of}


Scenario = Callable[[Moves], Coroutine[Any, Any, None]]


class RandomMoves:
    """Random faults, moves and messages, by a seed."""

    def __init__(self, it: Moves, seed: int) -> None:
        self._it, self._dice = it, Random(seed)
        self._running, self._count = list[asyncio.Task[None]](), 0

    async def run(self) -> None:
        m, dice = self._it.m, self._dice
        for _ in range(dice.randint(6, 14)):
            kinds = ("publish",) * 4 + ("send",) * 4 + ("visit",) * 2
            match dice.choice((*kinds, "fault", "fault", "fault", "fault", "break")):
                case "publish":
                    await self._publish()
                case "send":
                    self._running += await self._it.send_some(dice, self._count + 1)
                    self._count += 4
                    await asyncio.sleep(0)
                case "visit":
                    self._it.visit(*dice.sample(NODES, 3))
                case "break":
                    self._it.visit(*self._it.order)
                case "fault":
                    self._fail()
            await m.pass_time(dice.choice((0.0, 0.01, 0.1, 1, 5)))
        m.heal()
        for name in NODES:
            m.start(name)
        await m.pass_time(90)
        assert all(task.done() for task in self._running)

    async def _publish(self) -> None:
        for _ in range(self._dice.randint(1, 4)):
            self._count += 1
            node = self._dice.choice(NODES)
            self._running.append(asyncio.create_task(self._it.publish(node, f"{node}-{self._count}")))
        await asyncio.sleep(0)

    def _fail(self) -> None:
        m, dice = self._it.m, self._dice
        up = [name for name in NODES if m._nodes[name].is_up]
        match dice.choice(("kill", "start", "cut", "heal")):
            case "kill" if len(up) > 1:
                m.kill(dice.choice(up))
            case "start" if len(up) < 3:
                m.start(next(name for name in NODES if name not in up))
            case "cut":
                m.cut(*dice.sample(NODES, 2))
            case "heal":
                m.heal()
