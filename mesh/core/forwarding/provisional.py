"""What clients here get before its master has it (a dirty read), and what the master says of it then."""

# Law 1: nothing rests on it. Whoever was given a message so is owed it by its master as everybody is, and
#        knows by its number that he had it. What was lost on the way, or had no room, comes from the master.
# Law 2: a subscriber has what one publisher says in a domain in its order. So who was not given a message
#        here is given none behind it, until it has come from its master.
# Law 3: contents are not sent back to where they are held, see mesh/routing/heldbodies.py.

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from mesh.core.delivery.router import Router
from mesh.core.desk.desk import Desk
from mesh.core.desk.part import Part
from mesh.mapping.decision import Decision
from mesh.mapping.mapping import Mapping
from mesh.routing.feed import Feed
from mesh.routing.heldbodies import HeldBodies
from mesh.routing.parcel import Parcel
from mesh.routing.portion import Portion
from mesh.wire.commands import Answer
from mesh.wire.envelope import PROVISIONAL, RETRACTED, Envelope
from mesh.wire.limits import DIRTY

KEPT = 3600.0  # s that is remembered of who published, what he had given here
LOOK = 60.0  # s between two looks for what may be forgotten, of which there may be much
FeedTargets = list[tuple[Feed, tuple[int, ...] | None]]  # of which messages; None: of all


@dataclass(slots=True, eq=False)
class Lane:
    """A lane: what one publisher says in one domain, with the highest number that went on, and that came
    back. `missed`: by subscriber, the highest that he was not given here. Of what an earlier process let go
    on nobody knows whether it came back: so it did not.
    """

    last: int
    used: float
    back: int = 0
    missed: dict[Feed, int] = field(default_factory=dict)


class Provisional(Part):
    """The dirty reads of one node. `speaks(feed)`: does that subscriber know of them?"""

    def __init__(self, desk: Desk, router: Router, mapping: Mapping, speaks: Callable[[Feed], bool]) -> None:
        self._desk = desk
        self._router = router
        self._mapping = mapping
        self._knows = speaks
        self._bodies = HeldBodies()
        self._lanes: dict[tuple[bytes, str], Lane] = {}
        self._looked = 0.0

    def speaks(self) -> Sequence[str]:
        return (DIRTY,)

    def tidy(self) -> None:
        if self._desk.now - self._looked < LOOK:
            return
        self._looked = self._desk.now
        self._bodies.forget_old(self._desk.now)
        for at, lane in list(self._lanes.items()):
            if self._desk.now - lane.used >= KEPT:
                del self._lanes[at]
            for feed in [feed for feed in lane.missed if feed.closed]:
                del lane.missed[feed]

    # --- what goes on to a master -----------------------------------------------------------------------

    def goes(self, e: Envelope, decision: Decision) -> bool:
        """It goes on by that decision. Is it for clients here, by a rule that lets them have it at once?"""
        if e.to:
            return False
        lane = self._lanes.get((e.stream, e.domain))
        if lane is None:
            lane = self._lanes[e.stream, e.domain] = Lane(e.first - 1, self._desk.now)
        targets = self._targets(e)
        is_dirty = bool(targets) and not decision.copies and self._mapping.is_dirty(e, decision.node)
        self._give(lane, e, targets, is_dirty)
        lane.last, lane.used = e.last, self._desk.now
        return is_dirty

    def _targets(self, e: Envelope) -> FeedTargets:
        """The subscribers here, who know of dirty reads."""
        joining = self._router.joining
        return [
            (feed, indices)
            for feed, indices in self._router.clients.plan(e)
            if self._knows(feed) and not joining.has(feed)
        ]

    def _give(self, lane: Lane, e: Envelope, targets: FeedTargets, is_dirty: bool) -> None:
        """To all of them for whom it is the next."""
        parcel = Parcel(replace(e, flags=e.flags | PROVISIONAL), master=self._desk.me.uuid)
        for feed, indices in targets:
            is_next = is_dirty and lane.missed.setdefault(feed, lane.last) <= lane.back
            if not (is_next and feed.offer_now(Portion(parcel, indices), self._desk.now)):
                lane.missed[feed] = e.last

    def refused(self, e: Envelope, answer: Answer) -> None:
        """Its master did not take that; who was given it is told."""
        part = e.part(answer.first, answer.last)
        flags = part.flags | RETRACTED
        parcel = Parcel(
            replace(part, sizes=0, props=0, body=b"", flags=flags, expires=0), master=self._desk.me.uuid
        )
        for feed, indices in self._targets(part):
            feed.offer(Portion(parcel, indices), self._desk.now)

    def held(self, e: Envelope) -> Envelope:
        """It, as it leaves for a master that knows of this."""
        return self._bodies.hold(e, self._desk.now) or e

    # --- what comes from one ----------------------------------------------------------------------------

    def whole(self, item: Envelope) -> Envelope | None:
        """An item that came without contents, with them; None: they are not here."""
        found = self._bodies.whole(item)
        if found is not None:
            self._desk.count("confirmed", found.count)
            self._desk.count("confirmed_bytes", len(found.body))
        return found

    def came(self, e: Envelope) -> None:
        """Its master has sent it."""
        if (lane := self._lanes.get((e.stream, e.domain))) is not None:
            lane.back = max(lane.back, e.last)
