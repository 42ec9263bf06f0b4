"""The time for which one event blocks a node with a large backlog when other nodes come and go.

The real cores of the nodes run on simulated wires in one process. The result is the longest single call of a
core (`receive`, `tick`, `take_effects` and so on) in ms of CPU time. The garbage collector is off, as its
time depends on all memory.
"""

from __future__ import annotations

import gc
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mesh.mapping.rules import Rule
from mesh.wire.commands import Query
from mesh.wire.envelope import Envelope
from tools.benchmarks.loads.figures import median
from tools.benchmarks.pages.report import Report, Row
from tools.simulator.world.mesh import SimNetwork
from tools.simulator.world.node import SimNode

WAITING = 40_000  # messages in envelopes of their own,
PUBLISHERS = 40
QUERIES = 200_000
NEWS = "NEWS"
FAR = 20.0  # s until all know a death or join
CALLS = (
    "receive",
    "tick",
    "stored",
    "disconnected",
    "gossiped",
    "knocked",
    "on_inbound_closed",
    "take_effects",
)
MASTER = (Rule("heron", domains=(NEWS,)),)
WAYS = (Rule("heron", domains=(NEWS,)), Rule("egret", 1, (NEWS,)), Rule("stork", 1, (NEWS,)))
STEPS = 4


class TimedNode(SimNode):
    """A node that records the longest call of its core, in s."""

    longest = 0.0

    def made(self) -> None:
        for name in CALLS:
            setattr(self.core, name, self._timed(getattr(self.core, name)))

    def _timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            began = time.thread_time()
            try:
                return call(*arguments)
            finally:
                self.longest = max(self.longest, time.thread_time() - began)

        return timed

    def taken(self) -> float:
        """Return the longest call since `taken` was last called, in ms."""
        longest, self.longest = self.longest, 0.0
        return 1000 * longest


class Trial:
    """The watched node `ibis`, and others that come and go, each with rules or none."""

    def __init__(self, rules: tuple[Rule, ...], others: tuple[str, ...], **settings: Any) -> None:
        self.net = SimNetwork(1)
        self.rules, self.settings, self.found = rules, settings, dict[str, float]()
        self.ibis = TimedNode(self.net, "ibis", (), {"rules": rules, **settings})
        self.ibis.start()
        for name in others:
            self.come(name)
        self.net.run(FAR)
        self.ibis.taken()

    def come(self, name: str) -> SimNode:
        """Start a node for the first time or again, unless it runs."""
        settings = {"rules": self.rules, **self.settings}
        node = self.net.nodes.get(name) or TimedNode(self.net, name, ("ibis",), settings)
        if not node.is_up:
            node.start()
        return node

    def watched(self, what: str, act: Callable[[], object]) -> None:
        """Record the longest call of `ibis` in the FAR simulated seconds from `act` on."""
        self.ibis.taken()
        act()
        self.net.run(FAR)
        self.found[what] = self.ibis.taken()


def waiting(rules: tuple[Rule, ...], count: int, others: tuple[str, ...] = ()) -> dict[str, float]:
    """Let `count` messages wait for a master and its next hops, and return the longest calls (ms) by event.

    A stranger joins and dies, then the next hops `others` and the master come back.
    """
    trial = Trial(rules, ("heron", *others), tailback_count=2 * count, tailback_bytes=2**40)
    for name in ("heron", *others):
        trial.net.nodes[name].kill()
    trial.net.run(FAR)
    publish = trial.ibis.core.parts.forwarder.publish
    for number in range(count):
        publish(_lone(number % PUBLISHERS, 1 + number // PUBLISHERS))
    trial.net.run(FAR)
    kept = trial.ibis.core.parts.forwarder.onward.messages
    if kept != count:
        raise ValueError(f"only {kept:,} messages wait")
    trial.watched("a stranger joins", lambda: trial.come("crane"))
    trial.watched("it dies", lambda: trial.net.nodes["crane"].kill())
    for name in (*reversed(others), "heron"):
        trial.watched(f"{name} is back", lambda name=name: trial.come(name))  # type: ignore[misc]
    return trial.found


def _lone(publisher: int, number: int) -> Envelope:
    return Envelope(
        stream=publisher.to_bytes(16),
        domain=NEWS,
        first=number,
        last=number,
        keys=("bench",),
        count=1,
        sizes=array("I", [100]).tobytes(),
        body=bytes(100),
        index=b"",
        low=1,
        flags=0,
        sender=f"/node/ibis/client/c{publisher}/session/-1",
    )


def wanting(rules: tuple[Rule, ...], count: int, others: tuple[str, ...] = ()) -> dict[str, float]:
    """Subscribe to `count` keys, and return the longest calls (ms) by event.

    A stranger joins and dies, then `others`, which receive the subscriptions, die and come back.
    """
    trial = Trial(rules, others)
    for number in range(count):
        trial.ibis.core.parts.demand.want(Query("exact", f"sensors/{number}", NEWS if rules else ""))
    trial.net.run(FAR)
    trial.watched("a stranger joins", lambda: trial.come("crane"))
    trial.watched("it dies", lambda: trial.net.nodes["crane"].kill())
    for name in others:
        trial.watched(f"{name} dies", lambda name=name: trial.net.nodes[name].kill())  # type: ignore[misc]
        told = trial.net.nodes[name]
        assert isinstance(told, TimedNode)
        told.taken()
        trial.watched(f"{name} is back", lambda name=name: trial.come(name))  # type: ignore[misc]
        trial.found[f"{name} is told"] = told.taken()
    return trial.found


@contextmanager
def _undisturbed() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


TRIALS: dict[str, Callable[[], dict[str, float]]] = {
    "turns, master away": lambda: waiting(MASTER, WAITING),
    "turns, ways away": lambda: waiting(WAYS, WAITING, ("egret", "stork")),
    "turns, wanted": lambda: wanting((), QUERIES, ("heron",)),
    "turns, wanted by ways": lambda: wanting(WAYS, QUERIES, ("egret", "stork")),
}


def measured(rounds: int, advance: Callable[[], None]) -> Report:
    """Run all rounds, and report for each case the event whose longest call has the largest median."""
    report = Report("turns")
    for name, trial in TRIALS.items():
        with _undisturbed():
            found = [trial() for _ in range(rounds)]
        kinds = {kind: [each[kind] for each in found] for kind in found[0]}
        note = "; ".join(f"{kind} {median(ms):.1f} (at least {min(ms):.1f})" for kind, ms in kinds.items())
        report.rows.append(Row(name, max(map(median, kinds.values())), note))
        report.details[name] = kinds
        advance()
    return report
