"""Messages that reach a site by several legs: each is accepted once, and none is lost as a false repeat."""

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import StaleSequence
from mesh.streams import multi_path_stream
from mesh.streams.multi_path_stream import IDLE, LEGS, MOST, PUBLISHER, LegsFull, MultiPathStream
from mesh.streams.origin import OriginStream
from mesh.streams.promises import Promises
from mesh.wire.limits import LARGEST_NUMBER

STREAM = b"s" * 16
HERON, FRODO = b"LON/heron", b"LON/frodo"
MASTERS = ((HERON,), (FRODO,), (HERON, FRODO))
STEPS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 63), st.booleans()), max_size=80)


class Site:
    """A master of site NYC, and the numbers that it has accepted."""

    def __init__(self) -> None:
        self.known: OriginStream = MultiPathStream()
        self.taken = Counter[int]()

    def take(self, leg: bytes, number: int, low: int) -> None:
        assert isinstance(self.known, MultiPathStream)
        fresh = (
            self.known.accept_numbers(number, number, low)
            if leg == PUBLISHER
            else self.known.accept_by(leg, number, number, low, 0.0)
        )
        self.taken.update(first for first, _ in fresh)

    def restart(self) -> None:
        self.known = type(self.known).unpack(self.known.pack())


class OneLow(Site):
    """A planted mistake: one low for all legs, as within one site."""

    def take(self, leg: bytes, number: int, low: int) -> None:
        self.known = self.known if type(self.known) is OriginStream else OriginStream()
        self.taken.update(first for first, _ in self.known.accept_numbers(number, number, low))


class LaneEach(Site):
    """A planted mistake: each leg is compared only with itself."""

    def __init__(self) -> None:
        super().__init__()
        self.lanes: dict[bytes, OriginStream] = {}

    def take(self, leg: bytes, number: int, low: int) -> None:
        lane = self.lanes.setdefault(leg, OriginStream())
        self.taken.update(first for first, _ in lane.accept_numbers(number, number, low))

    def restart(self) -> None:
        """Keep the lanes, as if they were read from disk."""


class World:
    """A publisher and two masters of LON, and a master of NYC. Gateways lose, repeat and reorder messages."""

    def __init__(self, site: Site, is_hasty: bool = False) -> None:
        self.site, self.is_hasty = site, is_hasty
        self.said: dict[int, set[bytes]] = {}  # number -> masters that have not accepted it
        self.answered: set[int] = set()
        self.lows = dict.fromkeys((HERON, FRODO), 1)  # the publisher's low, as each master knows it
        self.open: dict[bytes, set[int]] = {HERON: set(), FRODO: set()}
        self.promises = {HERON: Promises(), FRODO: Promises()}
        self.wire: list[tuple[bytes, int, int]] = []

    @property
    def low(self) -> int:
        return min((n for n in self.said if n not in self.answered), default=len(self.said) + 1)

    def publish(self, which: int) -> None:
        self.said[len(self.said) + 1] = set(MASTERS[which % 3])

    def master_takes(self, which: int) -> None:
        waiting = [(number, master) for number, masters in self.said.items() for master in sorted(masters)]
        if waiting:
            number, master = waiting[which % len(waiting)]
            self.said[number].discard(master)
            self.open[master].add(number)
            self.promises[master].add_numbers(STREAM, number, number)
            self.lows[master] = max(self.lows[master], self.low)
            if not self.said[number]:
                self.answered.add(number)

    def relay(self, which: int) -> None:
        """Send, or resend, an open number of a master."""
        if waiting := [(master, number) for master in self.open for number in sorted(self.open[master])]:
            master, number = waiting[which % len(waiting)]
            known = LARGEST_NUMBER if self.is_hasty else self.lows[master]
            low = self.promises[master].low(STREAM, known)
            self.wire.append((master, number, low))

    def arrive(self, which: int, is_answered: bool) -> None:
        """Deliver a message, which may be delivered again later. Its answer is lost unless `is_answered`."""
        if self.wire:
            master, number, low = self.wire[which % len(self.wire)]
            self.site.take(master, number, low)
            if is_answered:
                self.open[master].discard(number)
                self.promises[master].close(STREAM, number, number)

    def publish_there(self, which: int) -> None:
        """Continue at NYC: publish a number there that LON has not answered."""
        if waiting := [number for number in self.said if number not in self.answered]:
            number = waiting[which % len(waiting)]
            self.site.take(PUBLISHER, number, self.low)
            self.answered.add(number)

    def play(self, steps: list[tuple[int, int, bool]]) -> None:
        does: list[Callable[[int], None]] = [
            self.publish,
            self.master_takes,
            self.relay,
            self.publish_there,
            lambda which: self.site.restart(),
        ]
        for what, which, is_answered in steps:
            if what < len(does):
                does[what](which)
            else:
                self.arrive(which, is_answered)

    def end(self) -> None:
        """Reconnect all nodes: deliver all owed messages, and then every old copy again."""
        while any(self.said.values()):
            self.master_takes(0)
        while any(self.open.values()):
            self.relay(0)
            self.arrive(len(self.wire) - 1, True)
        for which in range(len(self.wire)):
            self.arrive(which, True)
        assert self.site.taken == Counter(list(self.said))


@given(STEPS)
def test_what_masters_of_a_site_relay_is_taken_once_each(steps: list[tuple[int, int, bool]]) -> None:
    world = World(Site())
    world.play(steps)
    world.end()


@pytest.mark.parametrize(
    ("site", "is_hasty", "steps"),
    [
        pytest.param(OneLow, False, [(0, 0, True), (0, 1, True), (1, 0, True), (3, 0, True)], id="one-low"),
        pytest.param(LaneEach, False, [(0, 2, True)], id="a-lane-each"),
        pytest.param(
            Site, True, [(0, 0, True), (0, 0, True), (1, 1, True), (2, 0, True), (5, 0, True)], id="hasty"
        ),
    ],
)
def test_the_model_finds_what_is_planted(
    site: type[Site], is_hasty: bool, steps: list[tuple[int, int, bool]]
) -> None:
    world = World(site(), is_hasty)
    world.play(steps)
    with pytest.raises(AssertionError):
        world.end()


@given(st.lists(st.tuples(st.sampled_from([PUBLISHER, HERON, FRODO]), st.integers(1, 40), st.integers(0, 9))))
def test_with_little_room_nothing_is_taken_twice(scenario: list[tuple[bytes, int, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(multi_path_stream, "KEPT", 2)
        patch.setattr(multi_path_stream, "MOST", 4)
        known, taken = MultiPathStream(), set[int]()
        for leg, number, open_below in scenario:
            low = max(1, number - open_below)
            try:
                fresh = known.accept_by(leg, number, number, low, 0.0)
            except (LegsFull, StaleSequence):
                assert number not in known.above
                continue
            assert not fresh or number not in taken
            taken.update(first for first, _ in fresh)


def test_a_hole_below_a_publishers_low_is_news_when_another_site_brings_it() -> None:
    known = MultiPathStream()
    assert known.accept_numbers(10, 10, low=10) == [(10, 10)]
    assert known.accept_by(HERON, 5, 5, 5, 0.0) == [(5, 5)]
    assert known.accept_by(FRODO, 4, 11, 4, 0.0) == [(4, 4), (6, 9), (11, 11)]
    assert known.low == 10


def test_what_was_taken_and_is_answered_is_still_compared_with_what_others_bring() -> None:
    known = MultiPathStream()
    known.accept_numbers(5, 6, low=5)
    known.accept_by(HERON, 7, 7, 7, 0.0)
    known.settle(9)
    assert known.low == 9
    assert known.accept_by(FRODO, 4, 8, 4, 0.0) == [(4, 4), (8, 8)]


def test_what_is_below_the_low_of_its_own_leg_is_a_repeat() -> None:
    known = MultiPathStream()
    known.accept_by(HERON, 7, 7, 7, 0.0)
    assert known.accept_by(HERON, 5, 5, 5, 0.0) == []
    assert known.accept_by(HERON, 6, 8, 5, 0.0) == [(8, 8)]


def test_what_was_refused_may_come_again() -> None:
    known = MultiPathStream()
    known.accept_by(HERON, 5, 5, 1, 0.0)
    known.refuse_numbers(5, 5)
    assert not known.refused
    assert known.accept_by(HERON, 5, 5, 1, 0.0) == [(5, 5)]


def test_what_was_put_off_comes_before_what_the_same_leg_brings_of_later_numbers() -> None:
    known = MultiPathStream()
    known.defer_leg(HERON, 5, 0.0)
    with pytest.raises(LegsFull):
        known.accept_by(HERON, 6, 6, 1, 0.0)
    assert known.accept_by(FRODO, 6, 6, 1, 0.0) == [(6, 6)]
    assert known.accept_by(HERON, 5, 7, 1, 0.0) == [(5, 5), (7, 7)]


def full(now: float = 0.0) -> MultiPathStream:
    known = MultiPathStream()
    for number in range(2, 2 * MOST + 2, 2):
        known.accept_by(HERON, number, number, 1, now)
    return known


def test_with_no_room_left_other_sites_wait_and_nothing_is_forgotten() -> None:
    known = full()
    with pytest.raises(LegsFull, match=f"too many gaps, {MOST:,} from number 1 on"):
        known.accept_by(HERON, 2 * MOST + 2, 2 * MOST + 2, 1, 0.0)
    assert known.accept_by(HERON, 2, 2, 1, 0.0) == [], "what is known needs no room"
    assert known.accept_by(HERON, 1, 1, 1, 0.0) == [(1, 1)], "all others wait for that"
    assert known.accept_by(HERON, 2 * MOST + 2, 2 * MOST + 2, 2 * MOST, 0.0), "they go on"
    assert len(known.above) == multi_path_stream.KEPT


def test_a_leg_that_was_silent_for_long_makes_nobody_wait() -> None:
    known, number = full(), 2 * MOST + 2
    known.accept_by(FRODO, number - 2, number - 2, number - 2, 0.0)
    with pytest.raises(LegsFull):
        known.accept_by(FRODO, number, number, number - 2, IDLE - 1)
    assert known.accept_by(FRODO, number, number, number - 2, IDLE) == [(number, number)]
    with pytest.raises(StaleSequence):
        known.accept_by(HERON, 1, 1, 1, IDLE)


def test_a_publisher_who_is_here_never_waits_for_other_sites() -> None:
    known, number = full(), 2 * MOST + 2
    assert known.accept_numbers(number, number, number - 2) == [(number, number)]
    assert len(known.above) <= MOST


def test_names_of_masters_without_end_take_no_room_and_push_no_publisher_out() -> None:
    known = MultiPathStream()
    known.accept_numbers(10, 10, low=10)
    for name in range(10 * LEGS):
        known.accept_by(str(name).encode(), 10, 10, 1 + name, 0.0)
    assert len(known._legs) <= LEGS
    assert PUBLISHER in known._legs


def test_it_is_stored_as_any_stream_and_its_publishers_low_counts_again() -> None:
    known = MultiPathStream()
    known.accept_numbers(10, 10, low=8)
    known.accept_by(HERON, 3, 3, 3, 0.0)
    again = MultiPathStream.unpack(known.pack())
    assert (again.low, [*again.above]) == (8, [(3, 3), (10, 10)])
    assert again.accept_numbers(7, 8, low=1) == [(8, 8)]
    assert isinstance(again, MultiPathStream)
    assert again.accept_by(HERON, 3, 4, 3, 0.0) == [(4, 4)]
    assert OriginStream.unpack(known.pack()).accept_numbers(3, 3, low=1) == [], (
        "a site without others reads it, too"
    )
