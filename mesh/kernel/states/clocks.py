"""Reports clocks of other nodes, and of gateways of other sites, that differ from the clock of this node."""

# Law 1: a connection measures the clock at its other end. For a node of an earlier release, whose
#        connections do not send the time, the states count that it sends directly to this node.
# Law 2: an event reports a wrong clock after two checks in a row, as all measurements are late after a pause
#        of this process. Another event reports when it is right again. Several clocks share one event.

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.states.facts import StateReceived

APART = 5.0  # s of difference from which a clock is reported
TOGETHER = APART / 2  # s of difference below which a reported clock is right again
LOOK = 3.0  # s between two checks
NAMED = 3  # nodes that one event names


class Clocks(Component):
    """Component that reports wrong clocks of connected nodes."""

    def __init__(self, context: NodeContext, neighbours: Neighbours) -> None:
        self._context = context
        self._neighbours = neighbours
        self._apart: dict[bytes, float] = {}  # by uuid: s by which each was ahead at the last check
        self._reported: set[bytes] = set()
        self._due = 0.0

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(StateReceived, self._on_state),)

    def figures(self) -> dict[str, int | float]:
        return {"clock_apart": max((abs(ahead) for _, ahead in self._connected().values()), default=0.0)}

    def _connected(self) -> dict[bytes, tuple[str, float]]:
        """Return, by uuid, the name of each connected node and how many s its clock is ahead of ours."""
        peers = (peer for peer in self._neighbours.peers.values() if peer.control is not None)
        clocks = {peer.node.uuid: (peer.node.name, peer.ahead / 1e9) for peer in peers}
        for role in self._context.face.connection_roles.values():
            clocks |= {uuid: (name, ahead / 1e9) for uuid, name, ahead in role.clocks()}
        return clocks

    def _on_state(self, fact: StateReceived) -> None:
        """Measure the clock of a node of an earlier release by its state (Law 1)."""
        state = fact.known.state
        peer = self._neighbours.peers.get(state.uuid) if fact.known.direct else None
        for conn in (peer.control, peer.data) if peer is not None else ():
            if conn is not None and not conn.clock.is_told:
                conn.clock.shows(state.wall, self._context.clock.believed)

    def on_second(self) -> None:
        if self._context.clock.now >= self._due:
            self._due = self._context.clock.now + LOOK
            self._compare()

    def _compare(self) -> None:
        connected = self._connected()
        before, self._apart = self._apart, {}
        for uuid, (_, ahead) in connected.items():
            if abs(ahead) >= (TOGETHER if uuid in self._reported else APART):
                self._apart[uuid] = ahead
        if new := {uuid for uuid in self._apart if uuid in before and uuid not in self._reported}:
            found = dict(connected[uuid] for uuid in sorted(new))
            self._context.event("clock", apart(self._context.me.name, found), level="warning")
        right = {uuid for uuid in self._reported - self._apart.keys() if self._is_right(uuid)}
        if names := [connected[uuid][0] for uuid in sorted(right) if uuid in connected]:
            self._context.event(
                "clock", f"{_names(names)} within {TOGETHER:g} s of the clock of this node again"
            )
        self._reported = (self._reported | new) - right

    def _is_right(self, uuid: bytes) -> bool:
        """Return whether a reported node whose clock is not wrong now counts as right again.

        A disconnected peer does not count, as its clock is not measured. A forgotten peer does, and so does a
        gateway of another site.
        """
        peer = self._neighbours.peers.get(uuid)
        return peer is None or peer.control is not None


def apart(here: str, found: Mapping[str, float]) -> str:
    """Return the text of an event about wrong clocks; `found` has the s by which each one is ahead."""
    if len(found) > NAMED:
        furthest = max(found.values(), key=abs)
        what = f"{_names(list(found))} up to {_by(furthest)} the clock of {here}"
        which = f"compare `date -u` there and at {here}, which may be the wrong one"
    else:
        what = ", ".join(f"the clock of {name} is {_by(ahead)} ours" for name, ahead in found.items())
        which = "compare `date -u` at both"
    return f"{what}; of two values, the older one may win. Set the wrong clock ({which})"


def _names(names: Sequence[str]) -> str:
    first = names[:NAMED]
    more = f" and {len(names) - len(first):,} more" if len(names) > len(first) else ""
    is_one = len(names) == 1
    return f"the clock{'' if is_one else 's'} of {', '.join(first)}{more} {'is' if is_one else 'are'}"


def _by(ahead: float) -> str:
    return f"{abs(ahead):,.0f} s {'ahead of' if ahead > 0 else 'behind'}"
