"""Envelopes that were sent to another site: they are kept until it has answered them, and no longer."""

from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from mesh.features.sites.node.arrivals import NeighbourSite, unfit
from mesh.features.sites.node.passing import in_runs, leaving
from mesh.features.sites.node.site_in_flight import SiteInFlight
from mesh.hops import leg_of
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.streams.multi_path_stream import MultiPathStream
from mesh.values import Hop
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope
from tests.mesh.envelopes import STREAM, envelope


def slice_(
    first: int, count: int = 1, position: int = 0, wanted: tuple[int, ...] | None = None, domain: str = ""
) -> EnvelopeSlice:
    it = envelope(" ".join(["a"] * count), first=first, persistent=position > 0, domain=domain)
    return EnvelopeSlice(StoredEnvelope(it, position), wanted)


def given_all(*slices: EnvelopeSlice) -> SiteInFlight:
    in_flight = SiteInFlight()
    for each in slices:
        in_flight.promise_slice(each)
        in_flight.add_slice(each)
    return in_flight


def done(in_flight: SiteInFlight, said: Answer, stream: bytes = STREAM) -> list[StoredEnvelope]:
    """Return the stored envelopes of which `said` completes the answers."""
    parts = in_flight.settle_answer(stream, said)
    return [given.stored for given in dict.fromkeys(part[0] for part in parts) if not given.left]


def answer(first: int, last: int | None = None, state: str = "OK", domain: str = "") -> Answer:
    return Answer(domain, first, last or first, state)


def test_what_was_given_is_kept_until_its_last_word_whatever_that_says() -> None:
    one, two, three = slice_(1), slice_(2), slice_(3)
    in_flight = given_all(one, two, three)
    assert done(in_flight, answer(2)) == [two.stored]
    [key] = in_flight.streams
    assert [each.stored for each in in_flight.unanswered(key)] == [one.stored, three.stored]
    assert done(in_flight, answer(1)) == [one.stored]
    assert done(in_flight, answer(3, state="NO_RIGHT")) == [three.stored], "a refusal is one"
    assert in_flight.unanswered(key) == []
    assert not in_flight.streams, "streams that are done take no room"


def test_what_goes_again_goes_in_its_publishers_order_whatever_a_crash_made_of_that() -> None:
    late, one, two = slice_(7, position=1), slice_(4, 3), slice_(10)
    in_flight = given_all(late, one, two)
    [key] = in_flight.streams
    assert [each.stored for each in in_flight.unanswered(key)] == [one.stored, late.stored, two.stored]


def test_an_envelope_may_be_answered_in_parts_and_several_at_once() -> None:
    one, two = slice_(1, 3, position=1), slice_(4, 3, position=2)
    in_flight = given_all(one, two)
    assert done(in_flight, answer(2, 4)) == []
    found = [
        (given.stored, first, last) for given, first, last, _ in in_flight.settle_answer(STREAM, answer(1, 6))
    ]
    assert found == [(one.stored, 1, 1), (two.stored, 5, 6)], "the rest of each"


def test_that_it_waits_on_its_way_is_no_last_word() -> None:
    in_flight = given_all(slice_(1, position=1))
    assert done(in_flight, answer(1, state="FORWARD_WARNING")) == []
    assert len(in_flight.streams) == 1


def test_what_was_offered_is_promised_though_it_was_not_sent() -> None:
    in_flight, waits = SiteInFlight(), slice_(5, position=1)
    in_flight.promise_slice(waits)
    assert in_flight.low(waits.stored.envelope, 9) == 5
    in_flight.drop(waits.stored.envelope)
    assert in_flight.low(waits.stored.envelope, 9) == 9


def test_it_promises_no_more_than_the_publisher_and_of_each_domain_for_itself() -> None:
    here, there = slice_(5), slice_(5, domain="D")
    in_flight = given_all(here, there)
    assert done(in_flight, answer(5))
    assert in_flight.low(here.stored.envelope, 3) == 3
    assert in_flight.low(here.stored.envelope, 9) == 9
    assert in_flight.low(there.stored.envelope, 9) == 5


def test_of_an_envelope_only_what_the_site_wants_leaves_and_is_waited_for() -> None:
    in_flight, some = SiteInFlight(), slice_(1, 6, position=1, wanted=(1, 2, 5))
    in_flight.promise_slice(some)
    assert in_flight.add_slice(some).envelope.ranges() == [(2, 3), (6, 6)]
    assert done(in_flight, answer(2, 3)) == []
    assert done(in_flight, answer(6)) == [some.stored]


@pytest.mark.parametrize(
    "said",
    [answer(2**62), answer(3, 1), answer(0, 9), answer(1, domain="x"), answer(1, domain="\ud800")],
    ids=str,
)
def test_answers_that_nobody_asked_for_change_nothing(said: Answer) -> None:
    in_flight = given_all(slice_(1, 5, position=1))
    assert done(in_flight, said) == []
    assert done(in_flight, answer(1, 5), b"x" * 16) == []
    assert [each.position for each in done(in_flight, answer(1, 5))] == [1]


@given(
    st.lists(st.sets(st.integers(0, 4), min_size=1), max_size=8),
    st.lists(st.tuples(st.integers(1, 40), st.integers(0, 6)), max_size=40),
)
def test_whatever_is_answered_in_any_order_it_keeps_what_is_not(
    wants: list[set[int]], answers: list[tuple[int, int]]
) -> None:
    slices = [slice_(1 + 5 * i, 5, i + 1, tuple(sorted(want))) for i, want in enumerate(wants)]
    in_flight = given_all(*slices)
    owed = [{1 + 5 * i + each for each in want} for i, want in enumerate(wants)]
    for first, more in answers:
        before = [i for i, numbers in enumerate(owed) if numbers]
        for numbers in owed:
            numbers -= set(range(first, first + more + 1))
        over = done(in_flight, answer(first, first + more))
        assert [each.position for each in over] == [i + 1 for i in before if not owed[i]]
        still_open = [i for i, numbers in enumerate(owed) if numbers]
        assert in_flight.low(envelope("a"), 99) == min((min(owed[i]) for i in still_open), default=99)
    assert sum(len(in_flight.streams.waiters(key)) for key in in_flight.streams) == sum(map(bool, owed))


NOW = 10**18
DOES = ["publish", "publish", "send", "send", "over", "over", "over", "LON", "NYC"]
STEPS = st.lists(st.tuples(st.sampled_from(DOES), st.integers(0, 11)), min_size=10, max_size=50)


class Wanted:
    """The rights of a site that may write to topic `a`."""

    def may_write(self, domain: str, topic: str) -> bool:
        return topic == "a"

    def may_write_to(self, client: str) -> bool:
        return False

    def may_pass(self, site: str) -> bool:
        return False


class Sites:
    """A master of LON with its store, gateways that forget, repeat and overtake, and a master of NYC."""

    def __init__(self) -> None:
        self.stored: list[EnvelopeSlice] = []
        self.done = set[int]()
        self.in_flight, self.sent = SiteInFlight(), 0
        self.wire: list[Envelope] = []
        self.known, self.taken = MultiPathStream(), Counter[int]()
        self.next = 1

    def publish(self, which: int) -> None:
        """Publish one to four messages. All but the last two before them may count as answered."""
        keys = [("a", "b", "a", "a")[(which + i) % 4] for i in range(1 + which % 4)]
        it = replace(
            envelope(" ".join(keys), first=self.next, low=max(1, self.next - which % 3), persistent=True),
            sender="/node/heron/client/joe/session/1",
        ).mastered(NOW, Hop("heron", 0, 1))
        self.next += len(keys)
        wanted = tuple(i for i, key in enumerate(keys) if key == "a")
        if wanted:
            stored = StoredEnvelope(it, len(self.stored) + 1)
            self.stored.append(EnvelopeSlice(stored, wanted if len(wanted) < len(keys) else None))
            self.in_flight.promise_slice(self.stored[-1])

    def send(self, which: int) -> None:
        """Send the next slice of the feed to NYC, through one gateway or another."""
        if self.sent < len(self.stored):
            slice_ = self.stored[self.sent]
            self.sent += 1
            left = self.in_flight.add_slice(slice_).envelope
            low = self.in_flight.low(left, left.low)
            gateway = Hop(f"k{which % 2}", 0, 2) if which % 3 else None
            self.wire += [leaving(run, "LON", low, gateway) for run in in_runs(left)]

    def over(self, which: int) -> None:
        """Deliver an envelope, which may be delivered again. Its answer is lost in some cases."""
        if self.wire:
            it = self.wire[which % len(self.wire)]
            assert (
                unfit(it, NeighbourSite("LON", "gull", {"LON": Wanted()}, {"LON": "LON"}), "NYC", NOW) is None
            )
            there = replace(it, route=(*it.route, Hop("heron", 0, 3)))  # a node of NYC has that name, too
            for first, last in self.known.accept_by(leg_of(there.route), it.first, it.last, it.low, 0.0):
                self.taken.update(range(first, last + 1))
            if which % 4:
                self.answered(it)

    def answered(self, it: Envelope) -> None:
        for each, *_ in self.in_flight.settle_answer(STREAM, Answer("", it.first, it.last)):
            if not each.left:
                self.done.add(each.stored.position)

    @property
    def settled(self) -> int:
        """Return the position up to which the site has answered all, which is the row of its feed."""
        return next(place for place in range(len(self.stored) + 1) if place + 1 not in self.done)

    def restart(self, site: str) -> None:
        """Restart the master of a site from its disk."""
        if site == "NYC":
            self.known = MultiPathStream.unpack(self.known.pack())
            return
        self.in_flight, self.sent = SiteInFlight(), self.settled
        for slice_ in self.stored[self.settled :]:
            self.in_flight.promise_slice(slice_)

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
    wanted = [n for p in sites.stored for n in p.stored.envelope.number_list(p.every)]
    assert sites.taken == Counter(wanted)
    assert not sites.in_flight.streams
    assert sites.settled == len(sites.stored)
