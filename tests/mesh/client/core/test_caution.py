"""A node that hangs up over one envelope: it is found, and nothing else is lost, or goes out of order."""

from mesh.client.core.caution import Caution
from mesh.wire.envelope import Envelope


def envelope(number: int) -> Envelope:
    return Envelope(b"s" * 16, "", number, number, ("k",), 1, 1, b"x")


class Line:
    """Envelopes that wait, and what became of them."""

    def __init__(self, count: int) -> None:
        self.waiting = [envelope(number) for number in range(1, count + 1)]
        self.answered: set[int] = set()
        self.caution = Caution(lambda e: e.first in self.answered)

    def again(self) -> list[int]:
        left = [e for e in self.waiting if e.first not in self.answered]
        return [e.first for e in self.caution.begin(left)]

    def answer(self, number: int) -> list[int]:
        self.answered.add(number)
        return [e.first for e in self.caution.answered()]


def test_until_a_node_objects_all_leave_at_once() -> None:
    line = Line(3)
    assert line.again() == [1, 2, 3] and not line.caution.is_on
    assert line.caution.add(envelope(4))


def test_trial_B1_the_one_that_is_refused_twice_alone_has_failed_and_the_rest_goes_on() -> None:
    line = Line(4)
    assert line.again() == [1, 2, 3, 4]
    assert line.caution.refused() is None
    assert line.again() == [1]
    assert line.answer(1) == [2]
    assert line.caution.refused() is None  # once may be chance
    assert line.again() == [2]
    found = line.caution.refused()
    assert found is not None and found.first == 2
    line.answered.add(2)
    assert line.again() == [3]
    assert not line.caution.add(envelope(5))
    assert [line.answer(number) for number in (3, 4, 5)] == [[4], [5], []]
    assert not line.caution.is_on and line.caution.add(envelope(6))


def test_a_refusal_of_one_is_not_held_against_the_next() -> None:
    line = Line(3)
    line.again()
    line.caution.refused()
    line.again()
    assert line.caution.refused() is None
    line.answered.add(1)
    assert line.again() == [2]
    assert line.caution.refused() is None
    assert line.again() == [2]
    found = line.caution.refused()
    assert found is not None and found.first == 2


def test_what_waits_for_its_last_word_is_sent_again_in_its_place() -> None:
    line = Line(4)
    line.caution.refused()
    line.answered |= {1, 3}
    assert [e.first for e in line.caution.begin(line.waiting)] == [1, 2]
    assert line.answer(2) == [3, 4]


def test_without_anything_that_waits_the_caution_is_over() -> None:
    line = Line(0)
    line.caution.refused()
    assert line.again() == [] and not line.caution.is_on
