"""How far is the clock of each other node from that of this one?"""

# Rule 1: it is measured by what a node says of itself straight to us. What travels late makes its clock look
#         behind, and never ahead: of the last few the one counts that shows it least behind.
# Rule 2: an event reports a clock once, and once that it is right again. It waits for more states: after a
#         pause of this process all come late. Of many clocks at once there is one event.

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from mesh.core.desk.desk import Desk
from mesh.core.desk.facts import Hearing, hear
from mesh.core.desk.part import Part
from mesh.core.peers.facts import PeerLost
from mesh.core.peers.neighbours import Neighbours
from mesh.core.states.facts import StateHeard

APART = 5.0  # s by which two clocks differ so that it is reported,
TOGETHER = APART / 2  # and below which they agree again
SAMPLES = 3  # states of a node that are remembered
GATHERS = 5.0  # s in which those gather that one event reports
NAMED = 3  # nodes that one event names


class PeerClock:
    """The clock of one other node, beside that of this one."""

    def __init__(self) -> None:
        self._seen: deque[float] = deque(maxlen=SAMPLES)
        self.is_apart = False

    @property
    def ahead(self) -> float:
        """How many s it is ahead of ours; below 0: it is behind."""
        return max(self._seen)

    def shows(self, ahead: float) -> bool:
        """Take what one state shows; returns whether the clock is apart now and was not, or the other way."""
        self._seen.append(ahead)
        is_apart = abs(self.ahead) >= (TOGETHER if self.is_apart else APART)
        is_news, self.is_apart = is_apart != self.is_apart, is_apart
        return is_news


class Clocks(Part):
    """The clocks of all nodes that are heard here: a wrong one is reported before anything is lost by it."""

    def __init__(self, desk: Desk, neighbours: Neighbours) -> None:
        self._desk = desk
        self._neighbours = neighbours
        self._clocks: dict[bytes, PeerClock] = {}  # by uuid
        self._reported: set[bytes] = set()  # those that are apart, as an event says
        self._news: dict[bytes, None] = {}  # those of which one may have to say something,
        self._due = 0.0  # then

    def hears(self) -> Sequence[Hearing]:
        return (hear(StateHeard, self._heard), hear(PeerLost, lambda fact: self._lost(fact.peer.node.uuid)))

    def figures(self) -> dict[str, int | float]:
        return {"clock_apart": max((abs(clock.ahead) for clock in self._clocks.values()), default=0.0)}

    def _heard(self, fact: StateHeard) -> None:
        state = fact.known.state
        if fact.known.direct:
            self._shown(state.uuid, (state.wall - self._desk.wall) / 1e9)

    def _shown(self, uuid: bytes, ahead: float) -> None:
        if self._clocks.setdefault(uuid, PeerClock()).shows(ahead):
            self._due = self._due if self._news else self._desk.now + GATHERS
            self._news[uuid] = None
            self._desk.wake(self._due)

    def _lost(self, uuid: bytes) -> None:
        self._clocks.pop(uuid, None)
        self._news.pop(uuid, None)
        self._reported.discard(uuid)

    def tick(self) -> None:
        if not self._news:
            return
        if self._desk.now < self._due:
            self._desk.wake(self._due)
            return
        news, self._news = self._news, {}
        wrong = {uuid for uuid in news if self._clocks[uuid].is_apart}
        if new := self._ahead(wrong - self._reported):
            self._desk.event("clock", apart(self._desk.me.name, new), level="warning")
        if right := self._ahead((self._reported & news.keys()) - wrong):
            self._desk.event("clock", f"{_names(right)}: less than {APART:.0f} s from ours again")
        self._reported = (self._reported | wrong) - (news.keys() - wrong)

    def _ahead(self, uuids: Iterable[bytes]) -> dict[str, float]:
        """Names of these nodes, and by how many s their clocks are ahead."""
        peers = self._neighbours.peers
        return {peers[uuid].node.name: self._clocks[uuid].ahead for uuid in sorted(uuids) if uuid in peers}


def apart(here: str, found: Mapping[str, float]) -> str:
    """Return the text of an event about the clocks of these nodes, with how many s each is ahead."""
    if len(found) > NAMED:
        furthest = max(found.values(), key=abs)
        what = f"{_names(found)} are up to {_by(furthest)} the clock of {here}"
        which = f"compare `date -u` there and at {here}: it may be the one that is wrong"
    else:
        what = ", ".join(f"the clock of {name} is {_by(ahead)} ours" for name, ahead in found.items())
        which = "compare `date -u` at both"
    return (
        f"{what}: times to live, last values and queues may go wrong. Set the clock that is wrong ({which})"
    )


def _names(found: Mapping[str, float]) -> str:
    first = list(found)[:NAMED]
    more = f" and {len(found) - len(first):,} more" if len(found) > len(first) else ""
    return f"clock{'s' if len(found) > 1 else ''} of {', '.join(first)}{more}"


def _by(ahead: float) -> str:
    return f"{abs(ahead):,.0f} s {'ahead of' if ahead > 0 else 'behind'}"
