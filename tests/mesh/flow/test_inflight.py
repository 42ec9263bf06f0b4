"""Each waiter gets its part of an answer once, and lost messages are returned once."""

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from mesh.flow.inflight import InFlight, LostNumbers

Flight = InFlight[str, str, str]
ROUTES = {"a": "gull", "b": "grebe"}


def flight(*sent: tuple[str, int, int, int]) -> Flight:
    """Return one stream, with these numbers and bytes in flight for waiters, by one route."""
    made = Flight()
    for waiter, first, last, size in sent:
        made.record_sent("s", "gull", waiter, first, last, size)
    return made


def test_each_waiter_gets_its_part_and_unexpected_answers_change_nothing() -> None:
    it = flight(("heron", 1, 10, 0), ("wren", 8, 12, 0))
    assert [it.apply_answer("s", *runs) for runs in ((20, 30), (3, 1), (0, 5))] == [[], [], []]
    assert it.apply_answer("t", 1, 10) == it.apply_answer("s", 1, 10, route="grebe") == []
    assert it.apply_answer("s", 5, 9, route="gull") == [("heron", 5, 9, 0), ("wren", 8, 9, 0)]
    assert it.apply_answer("s", 1, 2**62) == [("heron", 1, 4, 0), ("heron", 10, 10, 0), ("wren", 10, 12, 0)]
    assert (len(it), list(it), it.waiters("s"), it.route_of("s")) == (0, [], [], None)


def test_an_answer_that_is_not_final_frees_bytes_and_keeps_the_numbers() -> None:
    it = flight(("heron", 1, 4, 400))
    assert it.apply_answer("s", 1, 4, is_final=False) == [("heron", 1, 4, 400)]
    assert it.has_range("s", "heron", 1, 4) and not it.has_range("s", "heron", 4, 5)
    assert not it.has_range("s", "wren", 1, 1) and not it.has_range("t", "heron", 1, 1)
    assert it.apply_answer("s", 1, 4) == [("heron", 1, 4, 0)]


def test_a_dropped_waiter_waits_for_nothing() -> None:
    it = flight(("heron", 1, 4, 100), ("heron", 9, 9, 50))
    lost = it.drop("s", "heron")
    assert (list(lost.numbers), lost.size) == ([(1, 4), (9, 9)], 150) and "s" not in it


def test_an_owner_keeps_what_it_sent_and_sends_it_by_another_route() -> None:
    it = Flight()
    one, two = it.record_kept("s", "one", [(1, 2), (5, 6)]), it.record_kept("s", "two", [(3, 4)])
    assert it.route_of("s") is None and it.streams_by(lambda route: True) == []
    it.assign_route("s", "gull")
    assert it.streams_by(lambda route: route == "gull") == ["s"]
    assert it.apply_answer("s", 2, 4, is_shared=False) == [("one", 2, 2, 0), ("two", 3, 4, 0)]
    assert (list(one), list(two), it.waiters("s")) == ([(1, 1), (5, 6)], [], ["one"])
    it.assign_route("s", None)
    assert it.streams_by(lambda route: True) == [] and it.overlapping("s", 2, 5) == ["one"]
    assert it.overlapping("s", 2, 4) == it.overlapping("s", 6, 5) == it.overlapping("t", 1, 9) == []


def test_a_search_for_numbers_of_one_waiter_ends_with_the_last_of_them() -> None:
    it = flight(("heron", 1, 4, 0), ("wren", 1, 4, 0))
    assert it.apply_answer("s", 1, 4, is_shared=False) == [("heron", 1, 4, 0)]
    assert it.waiters("s") == ["wren"]


NUMBERS = st.tuples(st.integers(1, 12), st.integers(0, 5))
STREAMS, WAITERS = st.sampled_from("ab"), st.sampled_from(["heron", "wren", "tern"])
STEPS = st.one_of(
    st.tuples(st.just("sent"), STREAMS, WAITERS, NUMBERS, st.integers(0, 1000)),
    st.tuples(st.just("answered"), STREAMS, st.sampled_from(["gull", "grebe", ""]), NUMBERS, st.booleans()),
    st.tuples(st.just("lost"), st.sampled_from(["gull", "grebe"])),
    st.tuples(st.just("left"), WAITERS),
)


class Model:
    """A model with one entry for each stream, waiter and number in flight; every query is a search."""

    def __init__(self) -> None:
        self.open = set[tuple[str, str, int]]()
        self.bytes = defaultdict[tuple[str, str], int](int)

    def taken(self, stream: str | None = None, waiter: str | None = None) -> dict[tuple[str, str], set[int]]:
        """Remove and return the messages in flight of a stream, or for a waiter."""
        found = defaultdict[tuple[str, str], set[int]](set)
        for each in sorted(self.open):
            if stream in (None, each[0]) and waiter in (None, each[1]):
                found[each[:2]].add(each[2])
                self.open.discard(each)
        return dict(found)


@given(st.lists(STEPS, max_size=30))
def test_whatever_is_sent_answered_and_lost_each_number_ends_once_and_all_bytes_are_freed(
    steps: list[tuple[object, ...]],
) -> None:
    it, model = Flight(), Model()
    for step in steps:
        match step:
            case "sent", str(stream), str(waiter), (int(first), int(more)), int(size):
                it.record_sent(stream, ROUTES[stream], waiter, first, first + more, size)
                model.open |= {(stream, waiter, n) for n in range(first, first + more + 1)}
                model.bytes[stream, waiter] += size
            case "answered", str(stream), str(route), (int(first), int(more)), bool(final):
                answered(it, model, stream, route, range(first, first + more + 1), final)
            case "lost", str(route):
                lost = it.drop_routes(lambda each, route=route: each == route)  # type: ignore[misc]
                stream = next(stream for stream, way in ROUTES.items() if way == route)
                assert ended(model, lost) == model.taken(stream=stream)
            case "left", str(waiter):
                lost = it.drop_waiters(lambda each, waiter=waiter: each == waiter)  # type: ignore[misc]
                assert ended(model, lost) == model.taken(waiter=waiter)
        assert set(it) == {stream for stream, _, _ in model.open}
        for stream in ROUTES:
            assert set(it.waiters(stream)) == {who for of, who, _ in model.open if of == stream}
            assert it.route_of(stream) == (ROUTES[stream] if stream in it else None)
            assert set(it.overlapping(stream, 3, 6)) == {
                who for of, who, n in model.open if of == stream and 3 <= n <= 6
            }
    for stream in ROUTES:
        answered(it, model, stream, "", range(1, 100), final=True)
    assert not len(it) and not any(model.bytes.values())


def answered(it: Flight, model: Model, stream: str, route: str, numbers: range, final: bool) -> None:
    parts = it.apply_answer(stream, numbers[0], numbers[-1], final, route or None)
    found = [(stream, who, n) for who, first, last, _ in parts for n in range(first, last + 1)]
    due = {each for each in model.open if each[0] == stream and each[2] in numbers}
    assert sorted(found) == sorted(due if route in ("", ROUTES[stream]) else ())
    for who, _, _, freed in parts:
        model.bytes[stream, who] -= freed
        assert model.bytes[stream, who] >= 0
    if final:
        model.open -= set(found)


def ended(model: Model, lost: list[LostNumbers[str, str]]) -> dict[tuple[str, str], set[int]]:
    """Return the lost messages by stream and waiter, with the bytes in transit."""
    found: dict[tuple[str, str], set[int]] = {}
    for stream, waiter, numbers, size in lost:
        assert model.bytes.pop((stream, waiter), 0) == size
        found[stream, waiter] = {n for first, last in numbers for n in range(first, last + 1)}
    return found
