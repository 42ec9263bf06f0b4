"""Laws of jobs and sessions that move at random, while nodes end, return and are cut off."""

from __future__ import annotations

import asyncio
import contextlib
from random import Random
from typing import Any

import pytest

import mesh.testing
from mesh.errors import MeshError
from tests.mesh.features.queues.node.keeping.moving_jobs import NODES, QUEUE, Jobs
from tests.seeds import scenarios

TWICE = "twice "  # of messages whose producer moves: there may be two copies


class Log:
    """The events of each job, in order: it was given, and acked."""

    def __init__(self) -> None:
        self.given: dict[str, list[bool]] = {}  # whether flagged, in order
        self.acked: set[str] = set()
        self.in_doubt: set[str] = set()  # the ack was written, perhaps, and its answer was lost
        self.given_after_ack: list[tuple[str, bool]] = []

    def on_given(self, text: str, is_flagged: bool) -> None:
        self.given.setdefault(text, []).append(is_flagged)
        if text in self.acked:
            self.given_after_ack.append((text, is_flagged))


class Life:
    """A mesh with two consumers, of which joe moves, and producers, of which one moves."""

    def __init__(self, it: Jobs, seed: int) -> None:
        self.it, self.dice, self.log = it, Random(seed), Log()
        self.producers = [it.m.connect(name, client=f"producer-{name}") for name in NODES]
        self.put: set[str] = set()
        self.open: list[Any] = []  # deliveries that are not acked
        self.is_over = False

    async def consume(self, client: Any) -> None:
        async with client.queue(QUEUE).consume(prefetch=3) as consumer:
            async for delivery in consumer:
                self.log.on_given(delivery.content.decode(), delivery.redelivered)
                self.open.append(delivery)
                if self.is_over:
                    self.ack_one()

    def ack_one(self) -> None:
        if self.open:
            self.it.run(self._ack(self.open.pop(self.dice.randrange(len(self.open)))))

    async def _ack(self, delivery: Any) -> None:
        try:
            await delivery.ack()
            self.log.acked.add(delivery.content.decode())
        except MeshError as error:
            assert error.code == "LEASE_OVER", error
            self.log.in_doubt.add(delivery.content.decode())

    async def produce(self, client: Any, text: str) -> None:
        await client.queue(QUEUE).put(text.encode())
        self.put.add(text)

    async def live(self) -> None:
        it, dice, m = self.it, self.dice, self.it.m
        tasks = [it.run(self.consume(it.joe)), it.run(self.consume(it.other))]
        await m.pass_time(1)
        for n in range(dice.randint(10, 20)):
            self._step(f"{n}")
            await m.pass_time(dice.choice((0.0, 0.01, 0.1, 1, 5, 20)))
        self.is_over = True
        m.heal()
        for name in NODES:
            if not m._nodes[name].is_up:
                m.start(name)
        for _ in range(4):
            while self.open:
                self.ack_one()
            await m.pass_time(30)
        assert not any(task.done() for task in tasks)

    def _step(self, text: str) -> None:
        it, dice, m = self.it, self.dice, self.it.m
        up = [name for name in NODES if m._nodes[name].is_up]
        match dice.choice(("put", "put", "ack", "ack", "visit", "visit", "kill", "start", "cut", "heal")):
            case "put" if dice.random() < 0.4:
                it.run(self.produce(it.boss, f"{TWICE}{text}"))
                if dice.random() < 0.7:
                    it.visit_of_boss(*dice.sample(NODES, 3))
            case "put":
                it.run(self.produce(dice.choice(self.producers), text))
            case "ack":
                self.ack_one()
            case "visit":
                it.visit(*dice.sample(NODES, 3))
            case "kill" if len(up) > 1:
                m.kill(dice.choice(up))
            case "start" if len(up) < 3:
                m.start(next(name for name in NODES if name not in up))
            case "cut":
                m.cut(*dice.sample(NODES, 2))
            case "heal":
                m.heal()


@pytest.mark.parametrize("seed", scenarios(range(60), 6))
def test_laws_no_acked_job_is_given_again_and_repeats_are_flagged(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def within() -> None:
        async with mesh.testing.Mesh(NODES, clock="virtual") as m, Jobs(m, monkeypatch).opened() as it:
            life = Life(it, seed)
            async with contextlib.AsyncExitStack() as stack:
                for producer in life.producers:
                    await stack.enter_async_context(producer)
                await life.live()
            log = life.log
            again = [text for text, is_flagged in log.given_after_ack if TWICE not in text or not is_flagged]
            assert again == [], "SE7"
            unflagged = {text: flags for text, flags in log.given.items() if flags.count(False) > 1}
            assert unflagged == {}, "SE8"
            assert life.put <= log.acked | log.in_doubt
            assert it.figures("queue_messages", "queue_out") == {"queue_messages": 0, "queue_out": 0}

    asyncio.run(within())
