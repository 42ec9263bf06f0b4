"""Pins keep positions in the store until they end."""

from hypothesis import given
from hypothesis import strategies as st

from mesh.routing.pins import Pins


def test_a_pinned_position_is_dropped_when_its_last_pin_has_ended() -> None:
    pins = Pins()
    pins.pin("joe", 3, 6)
    pins.pin("ann", 5, 8)
    assert [p for p in range(1, 10) if pins.delays(p)] == [3, 4, 5, 6, 7, 8]
    assert (len(pins), pins.delayed, pins.take_free()) == (2, 6, [])
    pins.pin("joe", 1, 0)
    assert pins.take_free() == [3, 4]
    pins.pin("ann", 8, 8)
    assert pins.take_free() == [5, 6, 7]
    pins.pin("ann", 1, 0)
    assert pins, "what it has kept is still to be returned"
    assert pins.take_free() == [8]
    assert not pins and not pins.delays(8)


def test_a_position_that_was_needed_all_the_time_is_not_dropped() -> None:
    pins = Pins()
    pins.pin("joe", 1, 5)
    pins.pin("joe", 1, 0)
    assert pins.take_free() == []


OWNERS = st.sampled_from("abc")
STEPS = st.one_of(
    st.tuples(st.just("pin"), OWNERS, st.integers(1, 12), st.integers(0, 12)),
    st.tuples(st.just("drop"), st.integers(1, 12)),
    st.tuples(st.just("free")),
)


@given(st.lists(STEPS))
def test_laws_1_and_2_what_is_pinned_stays_and_everything_else_goes(steps: list[tuple[object, ...]]) -> None:
    pins, ranges = Pins(), dict[object, tuple[int, int]]()
    gone, wanted = set[int](), set[int]()
    for step in (*steps, ("free",)):
        match step:
            case ("pin", owner, int(first), int(last)):
                pins.pin(owner, first, last)
                ranges[owner] = (first, last)
            case ("drop", int(position)) if position not in wanted:
                wanted.add(position)
                if not pins or not pins.delays(position):
                    gone.add(position)
            case ("free",):
                gone.update(pins.take_free())
        pinned = {p for first, last in ranges.values() for p in range(first, last + 1)}
        assert not (gone - wanted)
        if step[0] == "drop":
            assert step[1] not in pinned or step[1] not in gone - wanted
    pinned = {p for first, last in ranges.values() for p in range(first, last + 1)}
    assert wanted - pinned <= gone
