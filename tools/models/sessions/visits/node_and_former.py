"""Steps between the current node and a former one: the notice of the move, and the release."""

from __future__ import annotations

from collections.abc import Iterator

from tools.models.bits import bit
from tools.models.sessions.rules import confirmed_masters, is_closed, is_outdated
from tools.models.sessions.visits.state import (
    ASKING,
    GIVEN_UP,
    NOTHING,
    REPORTED,
    Limits,
    Node,
    State,
    is_client_at,
    superseded,
    with_client,
    with_node,
)

Change = tuple[str, State]


def node_and_former(limits: Limits, state: State, n: int, f: int) -> Iterator[Change]:
    """Yield the steps between the current node `n` and the former node `f`, which are linked."""
    node, former = state.nodes[n], state.nodes[f]
    if is_outdated(node.attach, former.known):
        yield f"{f} refuses {n}", with_node(state, n, superseded(node, former.known))
    elif former.known < node.attach or former.loss == GIVEN_UP:
        after, notified = state, superseded(former, node.attach)
        if former.loss:
            notified = notified._replace(loss=REPORTED)
            after = with_node(state, n, node._replace(has_gap=True))
        yield f"{n} notifies {f}", with_node(after, f, notified)
    elif not node.has_gap:
        yield from _release(limits, state, n, f)


def _release(limits: Limits, state: State, n: int, f: int) -> Iterator[Change]:
    node, former, every = state.nodes[n], state.nodes[f], limits.all_masters
    known = former.released if former.attach else 0
    released = confirmed(node, every) | known
    closes = is_closed(released, every)
    if released == known if former.attach else not closes:
        return
    feeds = tuple(
        feed._replace(held=0, queue=0) if released >> i & 1 else feed for i, feed in enumerate(former.feeds)
    )
    changed = former._replace(released=released, feeds=feeds)
    after = state
    if closes:
        changed = changed._replace(attach=0, loss=NOTHING, released=0)
        after = with_node(after, n, node._replace(former=node.former & ~bit(f)))
        if is_client_at(state, n):
            client = state.client
            after = with_client(after, client._replace(former=client.former & ~bit(f)))
    after = after_release(limits, with_node(after, f, changed), f, released if former.attach else 0)
    yield f"{n} releases {f} for masters {released:b}", after


# --- places for planted mistakes ----------------------------------------------------------------------------


def confirmed(node: Node, every: int) -> int:
    """Return which of the masters (`every` of them) have accepted the resume of a node."""
    return confirmed_masters(every, sum(bit(i) for i, feed in enumerate(node.feeds) if feed.phase == ASKING))


def after_release(limits: Limits, state: State, f: int, released: int) -> State:
    """Return the state after the masters `released` have learned that the former node `f` is released."""
    return state
