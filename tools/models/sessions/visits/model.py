"""The model of visits: all steps from a state, and its run to quiescence."""

from __future__ import annotations

from collections.abc import Iterator

from tools.models.bits import bit
from tools.models.search import Violation
from tools.models.sessions.visits.faults import faults
from tools.models.sessions.visits.invariants import lost_message, unfinished
from tools.models.sessions.visits.node_and_client import node_and_client
from tools.models.sessions.visits.node_and_former import node_and_former
from tools.models.sessions.visits.node_and_master import node_and_master
from tools.models.sessions.visits.settling import settled
from tools.models.sessions.visits.state import (
    LINK,
    NODES,
    Limits,
    State,
    first_state,
    is_client_at,
    is_current,
    is_linked,
    with_log,
)
from tools.models.sessions.visits.visit import give_up, visit

REST = 300  # steps within which a state must come to rest

Change = tuple[str, State | Violation]


class VisitModel:
    """A client with one session and one subscription that moves among three nodes.

    Some nodes are masters, which know the subscription from the start. A message between nodes is one step,
    in which the sender acts on what it knows.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.first = first_state(limits)

    def steps(self, state: State) -> Iterator[Change]:
        for text, after in self._steps(state):
            yield text, after if isinstance(after, Violation) else settled(self.limits, after)

    def _steps(self, state: State) -> Iterator[Change]:
        limits = self.limits
        yield from faults(limits, state)
        for i, m in enumerate(limits.masters):
            log = state.logs[i]
            if state.nodes[m].is_up and log.length < limits.messages[i]:
                position = log.length + 1
                yield f"{m} accepts {position}", with_log(state, i, log._replace(length=position))
        if state.client.attach < limits.visits:
            for n in range(NODES):
                if n != state.client.at:
                    yield from visit(state, n)
        if limits.has_linger:
            for n in range(NODES):
                yield from give_up(state, n)
        yield from self._progress(state)

    def _progress(self, state: State) -> Iterator[Change]:
        """Yield the steps that need neither a fault nor a message or a visit."""
        limits, nodes, cut = self.limits, state.nodes, state.cut_links
        for n, node in enumerate(nodes):
            if not node.is_up:
                continue
            for i, m in enumerate(limits.masters):
                if nodes[m].is_up and not cut & LINK[n][m]:
                    yield from node_and_master(limits, state, n, i)
            if reads(state, n) and not state.cut_clients & bit(n):
                yield from node_and_client(state, n)
            if node.former and is_current(node):
                for f in range(NODES):
                    if node.former & bit(f) and f != n and is_linked(state, n, f):
                        yield from node_and_former(limits, state, n, f)

    def violation(self, state: State) -> Violation | None:
        return None if self.limits.has_linger else lost_message(state)

    def violation_at_rest(self, state: State) -> Violation | None:
        """Return the violation once all nodes run, all links are healed and the client is connected."""
        nodes = tuple(node._replace(is_up=True) for node in state.nodes)
        healed = State(nodes, state.logs, state.client, 0, 0, 0, 0)
        return self._run(settled(self.limits, healed))

    def _run(self, state: State) -> Violation | None:
        if state.client.at < 0:
            visits = [after for n in (state.client.last, 0, 1, 2) for _, after in visit(state, n)]
            if not visits:
                return Violation("S6", "no node admits the client")
            state = visits[0]
        for _ in range(REST):
            _, after = next(self._progress(state), ("", None))
            if after is None:
                return unfinished(state)
            if isinstance(after, Violation):
                return after
            state = settled(self.limits, after)
        return Violation("S6", f"no rest after {REST} steps")


# --- places for planted mistakes ----------------------------------------------------------------------------


def reads(state: State, n: int) -> bool:
    """Return whether the client reads its connection to node `n`."""
    return is_client_at(state, n)
