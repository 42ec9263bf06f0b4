"""Is all that one site relays to another taken there once, in whatever order it comes over?"""

from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from mesh.core.sites.arrivals import NeighbourSite, unfit
from mesh.core.sites.custody import Custody
from mesh.core.sites.passing import in_runs, leaving
from mesh.routing.parcel import Parcel
from mesh.routing.portion import Portion
from mesh.sites.hops import leg_of
from mesh.streams.legs import Legs
from mesh.values import Hop
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope
from tests.mesh.envelopes import STREAM, envelope

NOW = 10**18
DOES = ["publish", "publish", "send", "send", "over", "over", "over", "LON", "NYC"]
STEPS = st.lists(st.tuples(st.sampled_from(DOES), st.integers(0, 11)), min_size=10, max_size=50)


class Wanted:
    """NYC takes `a` from LON."""

    def may_write(self, domain: str, topic: str) -> bool:
        return topic == "a"

    def may_write_to(self, client: str) -> bool:
        return False

    def may_pass(self, site: str) -> bool:
        return False


class Sites:
    """A master of LON with its store, gateways that forget, repeat and overtake, and a master of NYC."""

    def __init__(self) -> None:
        self.stored: list[Portion] = []
        self.done = set[int]()
        self.custody, self.sent = Custody(), 0
        self.wire: list[Envelope] = []
        self.known, self.taken = Legs(), Counter[int]()
        self.next = 1

    def publish(self, which: int) -> None:
        """One to four messages; the publisher has had answers to all but the last few before."""
        keys = [("a", "b", "a", "a")[(which + i) % 4] for i in range(1 + which % 4)]
        it = replace(
            envelope(" ".join(keys), first=self.next, low=max(1, self.next - which % 3), persistent=True),
            sender="/node/heron/client/joe/session/1",
        ).mastered(NOW, Hop("heron", 0, 1))
        self.next += len(keys)
        wanted = tuple(i for i, key in enumerate(keys) if key == "a")
        if wanted:
            parcel = Parcel(it, len(self.stored) + 1)
            self.stored.append(Portion(parcel, wanted if len(wanted) < len(keys) else None))
            self.custody.offer(self.stored[-1])

    def send(self, which: int) -> None:
        """The next that the feed has for NYC, by one gateway or another."""
        if self.sent < len(self.stored):
            portion = self.stored[self.sent]
            self.sent += 1
            left = self.custody.send(portion).envelope
            low = self.custody.low(left, left.low)
            gateway = Hop(f"k{which % 2}", 0, 2) if which % 3 else None
            self.wire += [leaving(run, "LON", low, gateway) for run in in_runs(left)]

    def over(self, which: int) -> None:
        """One comes over, and is not gone for that: it may come again. So may its answer, or be lost."""
        if self.wire:
            it = self.wire[which % len(self.wire)]
            assert (
                unfit(it, NeighbourSite("LON", "gull", {"LON": Wanted()}, {"LON": "LON"}), "NYC", NOW) is None
            )
            there = replace(it, route=(*it.route, Hop("heron", 0, 3)))  # a node of NYC with that name, too
            for first, last in self.known.accept_by(leg_of(there.route), it.first, it.last, it.low, 0.0):
                self.taken.update(range(first, last + 1))
            if which % 4:
                self.answered(it)

    def answered(self, it: Envelope) -> None:
        for each, _ in self.custody.answered(STREAM, Answer("", it.first, it.last)):
            if not each.left:
                self.done.add(each.parcel.position)

    @property
    def settled(self) -> int:
        """The row of the site's feed: the place up to which all is done."""
        return next(place for place in range(len(self.stored) + 1) if place + 1 not in self.done)

    def restart(self, site: str) -> None:
        """That site's master comes back with what is on its disk."""
        if site == "NYC":
            self.known = Legs.unpack(self.known.pack())
            return
        self.custody, self.sent = Custody(), self.settled
        for portion in self.stored[self.settled :]:
            self.custody.offer(portion)

    def end(self) -> None:
        while self.sent < len(self.stored):
            self.send(0)
        for i in range(len(self.wire)):
            self.over(len(self.wire) * 4 + i)
            it = self.wire[i]
            self.answered(it)


@given(STEPS)
@example([("publish", 0), ("publish", 0), ("send", 0), ("send", 0), ("over", 1)])  # overtaken
def test_C6_1_what_is_relayed_is_taken_once_at_the_other_site(steps: list[tuple[str, int]]) -> None:
    sites = Sites()
    for what, which in steps:
        if what in ("LON", "NYC"):
            sites.restart(what)
        else:
            getattr(sites, what)(which)
    sites.end()
    wanted = [n for p in sites.stored for n in p.parcel.envelope.number_list(p.every)]
    assert sites.taken == Counter(wanted)
    assert len(sites.custody) == 0
    assert sites.settled == len(sites.stored)
