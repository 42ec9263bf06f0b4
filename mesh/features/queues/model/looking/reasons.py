"""Explains why messages in a local queue are not settled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from math import inf
from typing import NamedTuple

from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer
from mesh.features.queues.model.declared.definition import QueueTerms
from mesh.features.queues.model.envelopes.counts import count
from mesh.features.queues.model.moves.dealing import ReadyScan
from mesh.features.queues.model.moves.queue_report import QueueReport, matching_here
from mesh.features.queues.model.part.local_queue import LocalQueue
from mesh.printable import count as counted
from mesh.printable import harmless

SHOWN = 4  # selectors or nodes that are listed
LONG = 100  # characters shown of a name


class WaitReason(NamedTuple):
    """A reason why a number of messages is not settled.

    `is_cause` is set if no consumer here matches them and they do not move.
    """

    messages: int
    text: str
    is_cause: bool = False


def reasons(
    part: LocalQueue,
    others: Mapping[str, QueueReport],
    closed: Collection[str],
    now: float,
    name_of: Callable[[bytes], str] = bytes.hex,
    ways_out: Collection[str] | None = None,
    drained: Collection[str] = (),
) -> Iterator[WaitReason]:
    """Yield the reasons for all messages in the local queue.

    `others` has the state of the queue at nodes with consumers, by name; `closed` the nodes that refused
    messages a moment ago. `name_of(uuid)` returns the name of a node. `ways_out` has the targets of all
    messages while this node is drained, else it is `None`. `drained` has nodes that would be targets, but are
    drained, too.
    """
    takers = [taker for taker in part.consumers.eligible() if taker.away == inf]
    if part.ready and ways_out is not None and part.terms.scope == "mesh":
        yield WaitReason(part.ready, _leaving(ways_out, closed, drained))
    elif part.ready:
        elsewhere, they_move = _elsewhere(part.terms, others, closed)
        stranded = min(part.ready, ReadyScan(part, matching_here(takers), {}).stranded)
        if stranded:
            yield WaitReason(stranded, f"{_nobody(takers)}; {elsewhere}", is_cause=not they_move)
        if part.ready > stranded:
            yield WaitReason(part.ready - stranded, f"{_busy(part, takers)}; {elsewhere}")
    if part.backlog.later.messages:
        left = max(0.0, part.backlog.later.due - now)
        yield WaitReason(part.backlog.later.messages, f"delayed: the first becomes ready in {left:.1f} s")
    if part.deliveries.out:
        yield WaitReason(part.deliveries.out, "delivered to a consumer, and not settled")
    if part.away > part.deliveries.out:
        text = "outstanding since before the node restarted; the consumers may return"
        yield WaitReason(part.away - part.deliveries.out, text)
    for node, n in _going(part).items():
        yield WaitReason(n, f"in transit to {harmless(name_of(node))}")
    if part.failures.dying:
        yield WaitReason(part.failures.dying, "failed for the last time; not dead-lettered yet")


def _going(part: LocalQueue) -> Counter[bytes]:
    there = Counter[bytes]()
    for queued in part.moving.leaving:
        for runs, node, _ in queued.going:
            there[node] += count(runs)
    return there


def _leaving(ways_out: Collection[str], closed: Collection[str], drained: Collection[str]) -> str:
    if ways_out:
        return f"this node is being drained: they move to {_few(ways_out)}"
    causes = []
    if drained:
        causes.append(
            f"also being drained: {_few(drained)} (`mesh drain --cancel` at that node ends the drain)"
        )
    if full := {*closed} - {*drained}:
        causes.append(f"{_few(full)} refused messages a moment ago")
    text = "this node is being drained, and no other node can accept messages now"
    return "; ".join([text, *causes])


def _nobody(takers: Collection[QueueConsumer]) -> str:
    if not takers:
        return "no consumer is here"
    wanted = sorted({taker.selector.text for taker in takers if taker.selector is not None})
    return f"no consumer here selects them: {_few(wanted)}"


def _busy(part: LocalQueue, takers: Collection[QueueConsumer]) -> str:
    if not any(taker.room for taker in takers):
        has = sum(taker.busy for taker in takers)
        return f"no consumer here is free: {counted(len(takers), 'consumer')} with {counted(has, 'message')}"
    if part.backlog.groups:
        return "waiting for earlier messages of the same groups"
    return "about to be delivered here"


def _elsewhere(
    terms: QueueTerms, others: Mapping[str, QueueReport], closed: Collection[str]
) -> tuple[str, bool]:
    if terms.scope == "node":
        return "the queue exists only at this node", False
    if not others:
        return "no other node has a consumer", False
    if terms.redistribution is None or terms.distribution == "strict":
        text = f"the queue's terms keep the messages here, although consumers are at {_few(others)}"
        return text, False
    strangers = sorted(others)
    if terms.nodes and not (others := {name: it for name, it in others.items() if name in terms.nodes}):
        return f"consumers at {_few(strangers)} are outside the nodes of the queue", False
    if refused := [name for name in others if name in closed]:
        return f"{_few(refused)} refused messages a moment ago; another attempt follows", False
    wanting = [name for name, stock in others.items() if stock.wants]
    if not wanting:
        return f"consumers at {_few(others)} have no credit", False
    selected = [f"{text!r}" for name in wanting for text in others[name].selectors]
    wishes = f", where {_few(selected)} is selected" if selected else ""
    return f"they move to {_few(wanting)} after {terms.redistribution:g} s{wishes}", True


def _few(names: Collection[str]) -> str:
    shown = [harmless(name)[:LONG] for name in sorted(names)[:SHOWN]]
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(shown) + more
