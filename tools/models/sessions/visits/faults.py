"""Faults of the model of visits: crashes and restarts, cuts and their ends."""

from __future__ import annotations

from collections.abc import Iterator

from tools.models.bits import bit, replaced
from tools.models.sessions.visits.state import PAIRS, Feed, Limits, Log, Node, State, with_node

Change = tuple[str, State]


def faults(limits: Limits, state: State) -> Iterator[Change]:
    """Yield every fault that may happen, and the end of every present one."""
    for n in range(len(state.nodes)):
        yield from _node_faults(limits, state, n)
    for pair, mask in PAIRS.items():
        if state.cut_links & mask:
            yield f"{pair} are linked again", state._replace(cut_links=state.cut_links & ~mask)
        elif state.cuts:
            links = state.cut_links | mask
            yield f"{pair} are cut", state._replace(cut_links=links, cuts=state.cuts - 1)


def _node_faults(limits: Limits, state: State, n: int) -> Iterator[Change]:
    node = state.nodes[n]
    if not node.is_up:
        yield f"{n} restarts", with_node(state, n, node._replace(is_up=True))
    elif state.crashes:
        yield f"{n} crashes", crashed(limits, state, n)._replace(crashes=state.crashes - 1)
    if state.cut_clients & bit(n):
        reachable = state._replace(cut_clients=state.cut_clients & ~bit(n))
        yield f"client and {n} are connected again", reachable
    elif state.cuts:
        after = _disconnected(state, n)
        cut = after._replace(cut_clients=state.cut_clients | bit(n), cuts=state.cuts - 1)
        yield f"client is cut off from {n}", cut


def _disconnected(state: State, n: int) -> State:
    client = state.client
    return state._replace(client=client._replace(at=-1)) if client.at == n else state


def crashed(limits: Limits, state: State, n: int) -> State:
    """Return the state after a crash of node `n`, which loses its feeds and connections."""
    node = state.nodes[n]
    feeds = tuple(Feed(received=log.settled[n]) for log in state.logs)
    node = Node(False, known_after(node), *node[2:6], False, 0, False, 0, feeds)
    state = _disconnected(with_node(state, n, node), n)
    if n in limits.masters:
        i = limits.masters.index(n)
        state = state._replace(logs=replaced(state.logs, i, log_after(state.logs[i])))
    return state


# --- places for planted mistakes ----------------------------------------------------------------------------


def known_after(node: Node) -> int:
    """Return the highest attach number that the node knows after a crash."""
    return node.known


def log_after(log: Log) -> Log:
    """Return the log of a master after its crash."""
    return log
