"""Steps between a node and the client: deliveries, acknowledgements, and the report of a gap."""

from __future__ import annotations

from collections.abc import Iterator

from tools.models.bits import bit, highest, lowest, replaced, up_to
from tools.models.search import Violation
from tools.models.sessions.rules import Verdict, deliverable, number_verdict
from tools.models.sessions.visits.state import (
    ASKING,
    COMPLETE,
    NOTHING,
    State,
    is_client_at,
    with_client,
    with_feed,
    with_node,
)


def node_and_client(state: State, n: int) -> Iterator[tuple[str, State | Violation]]:
    """Yield the steps between node `n` and the client, which reads its connection to this node."""
    node, client = state.nodes[n], state.client
    for i, feed in enumerate(node.feeds):
        ready = deliverable(feed.queue, feed.held, feed.phase == COMPLETE) & ~feed.sent
        if ready:
            position = lowest(ready)
            after = with_feed(state, n, i, feed._replace(sent=feed.sent | bit(position)))
            yield f"{n} delivers {position} of master {i}", _delivered(after, n, i, position)
    if not is_client_at(state, n):
        return
    yield from _acknowledge(state, n)
    if node.has_gap and all(feed.phase != ASKING for feed in node.feeds):
        rows = zip(client.gaps, state.logs, node.feeds, client.received, strict=True)
        gaps = tuple(gap | log.deleted & up_to(feed.end) & ~has for gap, log, feed, has in rows)
        after = with_node(state, n, node._replace(has_gap=False, loss=NOTHING))
        yield f"{n} reports a gap", with_client(after, client._replace(gaps=gaps))


def _acknowledge(state: State, n: int) -> Iterator[tuple[str, State]]:
    node, received = state.nodes[n], state.client.received
    if all(feed.acknowledged == feed.sent & has for feed, has in zip(node.feeds, received, strict=True)):
        return
    feeds = []
    for feed, has in zip(node.feeds, received, strict=True):
        known = feed.sent & has
        feeds.append(feed._replace(acknowledged=known, queue=feed.queue & ~known, held=feed.held & ~known))
    yield f"client acknowledges to {n}", with_node(state, n, node._replace(feeds=tuple(feeds)))


def _delivered(state: State, n: int, i: int, position: int) -> State | Violation:
    """Return the state after the client has read a message; it drops a repeat."""
    client = state.client
    if state.nodes[n].attach != client.attach:
        return Violation("S4", f"former node {n} delivers")
    received = client.received[i]
    if number_verdict(position, received) is Verdict.REPEAT:
        return state
    if received & bit(position):
        return Violation("S3", f"{position} is delivered twice")
    if position < highest(received):
        return Violation("S2", f"{position} after {highest(received)}")
    positions = replaced(client.received, i, received | bit(position))
    return with_client(state, client._replace(received=positions))
