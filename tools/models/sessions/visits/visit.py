"""Steps of the client, and of nodes whose client stays away: a visit, and giving the session up."""

from __future__ import annotations

from collections.abc import Iterator

from tools.models.bits import bit
from tools.models.search import Violation
from tools.models.sessions.rules import cursors, former_nodes, is_visit_admitted, may_give_up
from tools.models.sessions.visits.state import (
    ASKING,
    GIVEN_UP,
    Client,
    Feed,
    Node,
    State,
    is_client_at,
    with_node,
)

LOSS_RECORD = GIVEN_UP  # value of `Node.loss` after a session is given up


def visit(state: State, n: int) -> Iterator[tuple[str, State]]:
    """Connect the client to node `n`; it names its attach number, its cursors and its former nodes."""
    client, node = state.client, state.nodes[n]
    attach = client.attach + 1
    if not node.is_up or state.cut_clients & bit(n) or not is_visit_admitted(attach, node.known):
        return
    former = former_nodes(client.former, client.last, n)
    since = cursors(client.received)
    feeds = tuple(
        Feed(ASKING, 0, position, 0, 0, feed.held, feed.received, 0, 0)
        for position, feed in zip(since, node.feeds, strict=True)
    )
    gap = node.loss != 0
    visited = Node(True, attach, attach, node.loss, False, 0, True, former, gap, previous_node(client), feeds)
    after = with_node(state, n, visited)
    yield (
        f"client visits {n} with attach {attach}",
        after._replace(client=Client(n, attach, former, client.received, client.gaps, n)),
    )


def give_up(state: State, n: int) -> Iterator[tuple[str, State | Violation]]:
    """Give the session up at node `n`, because its client stays away for `linger`."""
    node = state.nodes[n]
    if not node.is_up or not may_give_up(node.attach, node.known) or is_client_at(state, n):
        return
    text = f"{n} gives up the session"
    if node.is_notified:
        yield text, Violation("S5", f"{n} was notified of the move before")
        return
    feeds = tuple(feed._replace(queue=0, held=0) for feed in node.feeds)
    after = node._replace(attach=0, loss=LOSS_RECORD, is_connected=False, feeds=feeds)
    yield text, with_node(state, n, after)


# --- places for planted mistakes ----------------------------------------------------------------------------


def previous_node(client: Client) -> int:
    """Return the node that the client left, which only a planted mistake remembers; otherwise 0."""
    return 0
