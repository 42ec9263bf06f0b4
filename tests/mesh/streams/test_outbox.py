"""The publisher's end of a stream: each message is accepted once and answered once, by any route."""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mesh.errors import StaleSequence
from mesh.streams.origin import OriginStream
from mesh.streams.outbox import Outbox
from mesh.wire.envelope import Envelope
from mesh.wire.limits import ENVELOPE_BYTES, MIB

KEYS = ("a", "b")


def envelope(count: int = 1, size: int = 1, domain: str = "", keys: tuple[str, ...] = ("a",)) -> Envelope:
    """Return an envelope as a client builds it. With several keys, its messages alternate between them."""
    index = b"".join((i % len(keys)).to_bytes(2, "little") for i in range(count)) if len(keys) > 1 else b""
    return Envelope(
        stream=b"s" * 16,
        domain=domain,
        first=1,
        last=count,
        keys=keys,
        count=count,
        sizes=size,
        body=bytes(count * size),
        index=index,
    )


def final(outbox: Outbox, first: int, last: int, domain: str = "") -> list[tuple[int, int]]:
    return outbox.note_answer(domain, first, last, final=True)


def warn(outbox: Outbox, first: int, last: int) -> list[tuple[int, int]]:
    return outbox.note_answer("", first, last, final=False)


def fitting(each: Envelope) -> int:
    """Return how many copies of `each` the usual window admits. Answers must free all of it."""
    outbox, counts = Outbox(4 * MIB, 1024), set[int]()
    for answer in (final, final, warn, warn):
        sent: list[Envelope] = []
        while outbox.open:
            sent.append(outbox.add(each))
        counts.add(len(sent))
        for envelope in sent:
            answer(outbox, envelope.first, envelope.last)
        assert outbox.flight == 0
    [count] = counts
    return count


def test_of_large_contents_so_many_fit_that_a_camera_need_not_wait_for_each_answer() -> None:
    assert fitting(envelope(size=MIB)) == fitting(envelope(size=10**6)) - 2 == 32
    assert fitting(envelope(size=64 * MIB)) == 1, "32 MiB at most, but for the last one"
    assert fitting(envelope(size=ENVELOPE_BYTES)) == 16
    assert fitting(envelope(size=MIB // 2, count=2)) == 4, "many small ones"
    assert fitting(replace(envelope(size=MIB), to="queue/jobs")) == 4


def test_numbers_are_given_without_a_gap_in_each_domain() -> None:
    outbox = Outbox(1000, 10)
    assert [(e.first, e.last) for e in map(outbox.add, [envelope(3), envelope(1)])] == [(1, 3), (4, 4)]
    assert outbox.add(envelope(2, domain="sport")).first == 1
    assert outbox.next_number("") == 5


def test_the_window_closes_by_count_and_opens_with_an_answer() -> None:
    outbox = Outbox(1000, 2)
    outbox.add(envelope())
    assert outbox.open
    outbox.add(envelope())
    assert not outbox.open
    final(outbox, 1, 1)
    assert outbox.open


def test_the_window_closes_by_bytes_and_one_envelope_may_overdraw_them() -> None:
    outbox = Outbox(100, 10)
    outbox.add(envelope(size=99))
    assert outbox.open
    outbox.add(envelope(size=5000))
    assert not outbox.open
    final(outbox, 1, 1)
    assert not outbox.open
    final(outbox, 2, 2)
    assert outbox.open


def test_an_answer_to_what_was_never_sent_changes_nothing() -> None:
    outbox = Outbox(1000, 10)
    outbox.add(envelope(2))
    assert final(outbox, 3, 900) == []
    assert final(outbox, 1, 900) == [(1, 2)]
    assert final(outbox, 1, 1, domain="nowhere") == []
    assert outbox.next_number("") == 3


def test_what_is_sent_again_carries_the_newest_low_and_its_old_numbers() -> None:
    outbox = Outbox(1000, 10)
    for _ in range(3):
        outbox.add(envelope(2))
    final(outbox, 1, 2)
    assert [(e.first, e.last, e.low) for e in outbox.resend()] == [(3, 4, 3), (5, 6, 3)]


def test_what_waits_for_its_master_is_sent_again_until_the_final_answer() -> None:
    outbox = Outbox(1000, 2)
    for _ in range(5):
        outbox.add(envelope(2))
        warn(outbox, outbox.next_number("") - 2, outbox.next_number("") - 1)
    assert (outbox.open, outbox.warned) == (True, 10)
    final(outbox, 3, 4)
    final(outbox, 5, 5)
    assert [(e.first, e.last, e.low) for e in outbox.resend()] == [
        (1, 2, 1),
        (5, 6, 1),
        (7, 8, 1),
        (9, 10, 1),
    ]


# --- a publisher and its masters, with any loss in between ------------------------------------------


@dataclass
class Master:
    """A master that accepts new numbers and answers all."""

    name: str
    origin: OriginStream = field(default_factory=OriginStream)
    log: list[int] = field(default_factory=list)

    def take(self, piece: Envelope) -> list[tuple[int, int]]:
        """Accept the new numbers of `piece`, and return all its ranges as answered."""
        for first, last in piece.ranges():
            for a, b in self.origin.accept_numbers(first, last, piece.low):
                self.log += range(a, b + 1)
        return piece.ranges()


class Mesh:
    """A publisher, and a master for each key. Messages in transit may be lost, duplicated and reordered."""

    def __init__(self) -> None:
        self.outbox = Outbox(400, 5)
        self.masters = {key: Master(key) for key in KEYS}
        self.forth: list[tuple[str, Envelope]] = []
        self.back: list[tuple[int, int, bool]] = []
        self.answers: list[int] = []
        self.warned: set[int] = set()
        self.stale = 0

    def publish(self, count: int) -> None:
        if self.outbox.open:
            keys = KEYS if count > 1 else (KEYS[count % 2],)
            self.send(self.outbox.add(envelope(count, keys=keys)))

    def send(self, e: Envelope) -> None:
        for row, key in enumerate(e.keys):
            indices = [i for i in range(e.count) if e.row(i) == row]
            self.forth.append((key, e.cut(indices)))

    def resend(self, _: int) -> None:
        for e in self.outbox.resend():
            self.send(e)

    def carry(self, which: int) -> None:
        if self.forth:
            key, piece = self.forth.pop(which % len(self.forth))
            self.back += [(*span, True) for span in self.masters[key].take(piece)]

    def hold(self, which: int) -> None:
        """Keep a piece on a route that cannot reach the master, and warn the publisher."""
        if self.forth:
            _, piece = self.forth[which % len(self.forth)]
            self.back += [(*span, False) for span in piece.ranges()]

    def answer(self, which: int) -> None:
        if self.back:
            first, last, is_final = self.back.pop(which % len(self.back))
            fresh = self.outbox.note_answer("", first, last, is_final)
            numbers = [n for a, b in fresh for n in range(a, b + 1)]
            if is_final:
                self.answers += numbers
                self.warned -= set(numbers)
            else:
                self.warned |= set(numbers)

    def lose_forth(self, which: int) -> None:
        if self.forth:
            self.forth.pop(which % len(self.forth))

    def lose_back(self, which: int) -> None:
        if self.back:
            self.back.pop(which % len(self.back))

    def double(self, which: int) -> None:
        if self.forth:
            self.forth.append(self.forth[which % len(self.forth)])
        if self.back:
            self.back.append(self.back[which % len(self.back)])

    def way_dies(self, _: int) -> None:
        """Drop all that the route carries, and resend by another one."""
        self.forth.clear()
        self.back.clear()
        self.resend(0)

    def restart(self, which: int) -> None:
        """Restart a master from its stored state."""
        master = self.masters[KEYS[which % 2]]
        master.origin = OriginStream.unpack(master.origin.pack())


STEPS = ["publish", "publish", "carry", "carry", "answer", "answer", "hold", "resend", "lose_forth",
         "lose_back", "double", "way_dies", "restart"]  # fmt: skip
SCENARIO = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(1, 9)), max_size=60)


@given(SCENARIO)
def test_over_any_ways_each_message_is_taken_once_and_answered_once(scenario: list[tuple[str, int]]) -> None:
    mesh = Mesh()
    for step, which in scenario:
        getattr(mesh, step)(which)
        assert mesh.outbox.flight <= 5
        assert all(n >= mesh.outbox.low("") for n in mesh.warned)
    for _ in range(2):
        mesh.resend(0)
        while mesh.forth:
            mesh.carry(0)
        while mesh.back:
            mesh.answer(0)
    everything = list(range(1, mesh.outbox.next_number("")))
    assert sorted(mesh.masters["a"].log + mesh.masters["b"].log) == everything
    assert sorted(mesh.answers) == everything
    assert (mesh.outbox.unanswered, mesh.outbox.flight, mesh.outbox.open) == (0, 0, True)
    assert mesh.outbox.low("") == len(everything) + 1
    assert list(mesh.outbox.resend()) == []


def test_a_master_that_has_forgotten_too_much_says_so_and_the_publisher_goes_on() -> None:
    outbox, master = Outbox(10**6, 10**4), Master("m")
    sent = [outbox.add(envelope(1)) for _ in range(5000)]
    for e in sent[::2]:  # the other half is lost in transit
        master.take(e)
    refused = []
    for e in list(outbox.resend())[:2]:
        try:
            master.take(e)
        except StaleSequence:
            refused.append(e.first)
        final(outbox, e.first, e.last)
    assert refused == [1, 2], "whether the first was taken it cannot tell; nor for the one it never saw"
    assert outbox.low("") == 3
    after = outbox.add(envelope(1))
    assert [master.origin.accept_numbers(after.first, after.last, after.low)] == [[(5001, 5001)]]


def test_it_can_be_asked_whether_all_up_to_a_moment_is_answered() -> None:
    outbox = Outbox(1000, 10)
    outbox.add(envelope(2))
    outbox.add(envelope(1, domain="sport"))
    marks = outbox.marks()
    outbox.add(envelope(1))
    assert not outbox.is_answered_below(marks)
    warn(outbox, 2, 2)
    final(outbox, 1, 1, "sport")
    assert not outbox.is_answered_below(marks)
    warn(outbox, 1, 1)
    assert outbox.is_answered_below(marks)
    assert not outbox.is_answered_below(outbox.marks())


def test_an_answer_is_found_among_many_that_wait() -> None:
    outbox = Outbox(1 << 30, 1 << 20)
    for _ in range(500):
        outbox.add(envelope(3))
    warn(outbox, 1, 1500)
    assert final(outbox, 743, 749) == [(743, 744), (745, 747), (748, 749)]
    assert final(outbox, 1500, 1600) == [(1500, 1500)]
    assert [e.first for e in outbox.resend()].count(745) == 0


COUNTS = st.lists(st.integers(1, 3), min_size=1, max_size=5)
ANSWERS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from([0, 0, 1]), st.booleans()), max_size=25
)


@settings(max_examples=3 * settings().max_examples)
@given(COUNTS, ANSWERS)
def test_answers_in_any_order_come_to_the_same_as_counting_by_hand(
    counts: list[int], answers: list[tuple[int, int, int, bool]]
) -> None:
    """An answer runs from the start of one envelope to the end of another, or is shifted by `beside`."""
    outbox = Outbox(1 << 20, 100)
    envelopes = [outbox.add(envelope(count)) for count in counts]
    sent = set(range(1, sum(counts) + 1))
    heard: set[int] = set()
    finished: set[int] = set()
    for one, other, beside, is_final in answers:
        begin, end = sorted((one % len(envelopes), other % len(envelopes)))
        first, last = envelopes[begin].first + beside, envelopes[end].last + beside
        said = set(range(first, last + 1)) & sent
        before = finished if is_final else heard
        fresh = outbox.note_answer("", first, last, is_final)
        assert [n for a, b in fresh for n in range(a, b + 1)] == sorted(said - before)
        heard |= said
        finished |= said if is_final else set()
        open_ones = [e for e in envelopes if not set(range(e.first, e.last + 1)) <= finished]
        assert outbox.low("") == (open_ones[0].first if open_ones else sum(counts) + 1)
        assert [e.first for e in outbox.resend()] == [e.first for e in open_ones]
        assert outbox.unanswered == len(sent - heard)
        assert outbox.warned == len(heard - finished)
        assert outbox.flight == sum(not set(range(e.first, e.last + 1)) <= heard for e in envelopes)
        assert all(outbox.is_answered("", n) == (n in heard) for n in sent)
        assert all(outbox.is_final("", n) == (n in finished) for n in sent)
        assert not outbox.is_answered("", len(sent) + 1)
