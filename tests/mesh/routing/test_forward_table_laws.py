"""Laws of the forward table under random operations: no entry is lost, out of order, or counted wrongly."""

from itertools import islice

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mesh.routing.forward_table import ForwardTable
from mesh.routing.pending_forward import PendingForward
from mesh.wire.envelope import Envelope
from tests.mesh.envelopes import STREAM, envelope
from tests.mesh.origins import CLIENT

STREAMS = st.sampled_from([STREAM, b"o" * 16])
HOPS = st.sampled_from(["", "heron", "avalon"])
NUMBERS = st.integers(1, 12)
WINDOW_BYTES, WINDOW_COUNT = 300, 3


class Held:
    """The model's record of one entry."""

    def __init__(self, entry: PendingForward, arrival: int) -> None:
        self.entry = entry
        self.arrival = arrival
        self.hop = ""
        self.is_under_way = self.is_aside = False
        e = entry.envelope
        self.open = set(range(e.first, e.last + 1))


class OnwardMachine(RuleBasedStateMachine):
    """Random operations on a forward table. The model lists entries by arrival, with their open numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.onward = ForwardTable(WINDOW_BYTES, WINDOW_COUNT)
        self.held: list[Held] = []
        self.arrivals = 0
        self.top = 0

    def on(self, hop: str, is_under_way: bool) -> list[Held]:
        mine = [h for h in self.held if h.hop == hop and not h.is_aside]
        return [h for h in mine if h.is_under_way == is_under_way]

    @rule(stream=STREAMS, count=st.integers(1, 3), size=st.integers(0, 200), hops=st.lists(HOPS, max_size=5))
    def publish(self, stream: bytes, count: int, size: int, hops: list[str]) -> None:
        """Publish the next messages of a stream."""
        for hop in hops:
            e = envelope(" ".join("a" * count), [bytes(size)] * count, first=self.top + 1, stream=stream)
            self.top = e.last
            assert self.onward.split_known(e) == ([], [(e.first, e.last)])
            self.add(e, hop)

    @rule(stream=STREAMS, first=NUMBERS, count=st.integers(1, 6), hop=HOPS)
    def publish_again(self, stream: bytes, first: int, count: int, hop: str) -> None:
        """Publish again after a reconnect, perhaps divided otherwise. Only missing numbers are added."""
        e = envelope(" ".join("a" * count), first=first, stream=stream)
        mine = [h for h in self.held if h.entry.envelope.stream == stream]
        spans = {h.entry: range(h.entry.envelope.first, h.entry.envelope.last + 1) for h in mine}
        again = range(e.first, e.last + 1)
        found, missing = self.onward.split_known(e)
        assert set(found) == {entry for entry, span in spans.items() if set(span) & set(again)}
        numbers = [n for a, b in missing for n in range(a, b + 1)]
        assert numbers == [n for n in again if not any(n in span for span in spans.values())]
        for a, b in missing:
            self.add(envelope(" ".join("a" * (b - a + 1)), first=a, stream=stream), hop)
        self.top = max(self.top, e.last)

    def add(self, e: Envelope, hop: str) -> None:
        self.arrivals += 1
        self.held.append(Held(self.onward.add(e, CLIENT, 0.0), self.arrivals))
        self.assign_one(self.held[-1], hop)

    def assign_one(self, held: Held, hop: str) -> None:
        self.onward.set_next_hops(held.entry, (hop,), "")
        if held.hop != hop:
            held.hop, held.is_under_way, held.is_aside = hop, False, False

    @rule(which=NUMBERS, hop=HOPS)
    def change_way(self, which: int, hop: str) -> None:
        for held in self.held[which - 1 : which]:
            self.assign_one(held, hop)

    @rule(stream=STREAMS, hop=HOPS)
    def change_way_of_a_stream(self, stream: bytes, hop: str) -> None:
        for held in self.held:
            if held.entry.envelope.stream == stream:
                self.assign_one(held, hop)

    @rule(hop=HOPS, most=st.integers(1, 5))
    def depart(self, hop: str, most: int) -> None:
        for entry in islice(self.onward.next_to_send(hop), most):
            waiting = self.on(hop, False)
            assert entry is min(waiting, key=lambda h: h.arrival).entry, "the order of arrival"
            assert len(self.on(hop, True)) < WINDOW_COUNT
            assert sum(h.entry.size for h in self.on(hop, True)) < WINDOW_BYTES
            next(h for h in waiting if h.entry is entry).is_under_way = True

    @rule(which=NUMBERS)
    def put_aside(self, which: int) -> None:
        for held in self.held[which - 1 : which]:
            self.onward.put_aside(held.entry, held.hop)
            held.is_aside |= held.is_under_way
            held.is_under_way = False

    @rule(hop=HOPS, most=NUMBERS)
    def bring_back(self, hop: str, most: int) -> None:
        mine = [h for h in self.held if h.hop == hop][:most]
        self.onward.requeue(hop, [h.entry for h in mine])
        for held in mine:
            held.is_aside = False

    @rule(hop=HOPS)
    def break_connection(self, hop: str) -> None:
        under_way = self.on(hop, True)
        assert set(self.onward.requeue_in_flight(hop)) == {h.entry for h in under_way}
        for held in under_way:
            held.is_under_way = False

    @rule(stream=STREAMS, first=NUMBERS, count=st.integers(1, 12))
    def answer(self, stream: bytes, first: int, count: int) -> None:
        """Answer a range of numbers, which may or may not be in the table."""
        answered = set(range(first, first + count))
        expected = {
            (n, h.entry) for h in self.held if h.entry.envelope.stream == stream for n in h.open & answered
        }
        fresh = set()
        for entry, a, b in self.onward.find_answered(stream, "", first, first + count - 1):
            [hop] = entry.hops
            ranges = self.onward.settle(entry, hop, a, b)
            fresh |= {(n, entry) for c, d in ranges for n in range(c, d + 1)}
        assert fresh == expected
        for held in self.held:
            if held.entry.envelope.stream == stream:
                held.open -= answered
        self.held = [h for h in self.held if h.open]

    @rule(which=NUMBERS)
    def split(self, which: int) -> None:
        """Split an entry into its open messages, which take its place and are not in flight."""
        for held in self.held[which - 1 : which]:
            cut = [held.entry.envelope.part(number, number) for number in sorted(held.open)]
            parts = [Held(entry, held.arrival) for entry in self.onward.split(held.entry, cut)]
            assert held.entry.is_done and [part.entry.envelope for part in parts] == cut
            for part in parts:
                part.hop = held.hop
            self.held[which - 1 : which] = parts

    @rule(which=NUMBERS)
    def take_over(self, which: int) -> None:
        for held in self.held[which - 1 : which]:
            self.held.remove(held)
            self.onward.remove_entry(held.entry)

    @invariant()
    def nothing_is_lost_and_nothing_stays_that_has_its_last_word(self) -> None:
        assert self.onward.entries() == [h.entry for h in self.held]
        assert len(self.onward) == len(self.held)
        for held in self.held:
            assert {n for a, b in held.entry.open for n in range(a, b + 1)} == held.open
            assert not held.entry.is_done

    @invariant()
    def each_entry_is_in_the_line_of_the_node_it_goes_to(self) -> None:
        assert set(self.onward.hops()) == {h.hop for h in self.held}
        for hop in self.onward.hops():
            [line] = self.onward.lines(hop)
            assert line.entries() == [h.entry for h in self.held if h.hop == hop]
            assert set(line.flight) == {h.entry for h in self.on(hop, True)}
            assert line.flight_bytes == sum(h.entry.size for h in self.on(hop, True))
            assert line.messages == sum(len(h.open) for h in self.held if h.hop == hop)
            assert line.bytes == sum(h.entry.size for h in self.held if h.hop == hop)

    @invariant()
    def the_counters_add_up(self) -> None:
        assert self.onward.messages == sum(len(h.open) for h in self.held)
        assert self.onward.bytes == sum(h.entry.size for h in self.held)

    def teardown(self) -> None:
        for hop in ("", "heron", "avalon"):  # all waiting entries leave, in order of arrival
            self.break_connection(hop)
            self.bring_back(hop, len(self.held))
            expected = [h.entry for h in self.held if h.hop == hop]
            for entry in expected:
                leaving = [*self.onward.next_to_send(hop)]
                assert entry.was_sent
                assert leaving == sorted(leaving, key=lambda e: e.serial)
                self.onward.remove_entry(entry)
        assert (len(self.onward), self.onward.messages, self.onward.bytes) == (0, 0, 0)


TestOnward = OnwardMachine.TestCase
TestOnward.settings = settings(stateful_step_count=50)
