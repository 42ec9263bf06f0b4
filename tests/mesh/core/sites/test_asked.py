"""Does each who has asked get his part of an answer, once, and is what is under way counted?"""

from hypothesis import given
from hypothesis import strategies as st

from mesh.core.sites.asked import AskedNumbers
from mesh.wire.commands import Answer

WAITS = "FORWARD_WARNING"


def parts(
    asked: AskedNumbers[str], first: int, last: int, state: str = "OK"
) -> list[tuple[str, int, int, int]]:
    found = asked.answered(Answer("", first, last, state=state))
    return [(part.who, part.answer.first, part.answer.last, part.freed) for part in found]


def test_each_gets_his_part_and_what_nobody_asked_for_is_for_nobody() -> None:
    asked = AskedNumbers[str]()
    asked.add("heron", 1, 10)
    asked.add("wren", 8, 12)
    assert parts(asked, 20, 30) == parts(asked, 3, 1) == parts(asked, 0, 5) == []
    assert parts(asked, 5, 9) == [("heron", 5, 9, 0), ("wren", 8, 9, 0)]
    assert parts(asked, 1, 2**62) == [("heron", 1, 4, 0), ("heron", 10, 10, 0), ("wren", 10, 12, 0)]
    assert not asked and asked.all() == []


def test_what_waits_over_there_is_asked_for_still_and_is_under_way_no_more() -> None:
    asked = AskedNumbers[str]()
    asked.add("heron", 1, 4, 400)
    assert parts(asked, 1, 4, WAITS) == [("heron", 1, 4, 400)]
    assert asked.has("heron", 1, 4) and not asked.has("heron", 4, 5) and not asked.has("wren", 1, 1)
    assert parts(asked, 1, 4) == [("heron", 1, 4, 0)]


def test_who_is_dropped_waits_for_nothing() -> None:
    asked = AskedNumbers[str]()
    asked.add("heron", 1, 4, 100)
    asked.add("heron", 9, 9, 50)
    numbers, freed = asked.drop("heron")
    assert (list(numbers), freed) == ([(1, 4), (9, 9)], 150) and not asked


RANGES = st.tuples(st.integers(1, 30), st.integers(0, 5), st.integers(0, 1000))


ANSWERS = st.tuples(st.integers(1, 36), st.integers(0, 9), st.booleans())


@given(st.lists(RANGES, min_size=1), st.lists(ANSWERS))
def test_all_that_was_under_way_is_freed_in_the_end_and_never_more(
    given_: list[tuple[int, int, int]], answers: list[tuple[int, int, bool]]
) -> None:
    asked, total, freed = AskedNumbers[str](), 0, 0
    for first, more, size in given_:
        asked.add("heron", first, first + more, size)
        total += size
    for first, more, waits in answers:
        freed += sum(part[3] for part in parts(asked, first, first + more, WAITS if waits else "OK"))
        assert 0 <= freed <= total
    freed += sum(part[3] for part in parts(asked, 1, 100))
    assert freed == total and not asked
