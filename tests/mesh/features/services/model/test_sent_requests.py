"""Sent requests: each number is new once, however often it is resent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mesh.features.services.model.sent_requests import KEPT, LOST, SentRequests
from mesh.names import SENDS
from mesh.wire.envelope import Envelope


def sends(first: int, last: int, low: int = 1) -> Envelope:
    n = last - first + 1
    return Envelope(b"s" * 16, SENDS, first, last, ("",), n, 1, b"x" * n, low=low, to="a")


def sorted_out(memory: SentRequests, e: Envelope, is_resent: bool = False) -> dict[int, str]:
    """Return the state of each number's answer, or "" if it is new. Open numbers are left out."""
    found = {}
    for first, last, answer in memory.sort(e, is_resent):
        for n in range(first, last + 1):
            found[n] = "" if answer is None else answer.state
            if answer is None:
                memory.unanswered[n] = None
    return found


def test_a_number_is_fresh_once_and_then_open_and_then_has_its_answer() -> None:
    memory = SentRequests()
    assert sorted_out(memory, sends(1, 4)) == {1: "", 2: "", 3: "", 4: ""}
    assert sorted_out(memory, sends(1, 4)) == {}
    memory.record_answer(1, "OK", "")
    memory.record_answer(2, "NO_HANDLERS", "nobody")
    assert sorted_out(memory, sends(1, 5)) == {1: "OK", 2: "NO_HANDLERS", 5: ""}


def test_what_another_node_may_have_given_to_somebody_is_chosen_by_nobody() -> None:
    memory = SentRequests()
    assert sorted_out(memory, sends(5, 6), is_resent=True) == {5: LOST, 6: LOST}
    assert sorted_out(memory, sends(7, 8)) == {7: "", 8: ""}
    assert sorted_out(memory, sends(3, 4)) == {3: LOST, 4: LOST}  # resent after the numbers behind it


def test_refusals_are_remembered_as_far_as_it_goes_and_below_low_nothing() -> None:
    memory = SentRequests()
    for n in range(1, KEPT + 11):
        sorted_out(memory, sends(n, n))
        memory.record_answer(n, "NO_HANDLERS", "")
    assert sorted_out(memory, sends(10, 11)) == {10: LOST, 11: "NO_HANDLERS"}
    sorted_out(memory, sends(KEPT + 11, KEPT + 11, low=KEPT + 11))
    assert len(memory._refused) == 0


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 5), st.sampled_from(["OK", "NO_HANDLERS", ""]))))
def test_nothing_is_ever_fresh_twice(steps: list[tuple[int, int, str]]) -> None:
    memory, fresh = SentRequests(), set[int]()
    for first, more, state in steps:
        found = sorted_out(memory, sends(first, first + more))
        new = {n for n, said in found.items() if said == ""}
        assert not new & fresh
        fresh |= new
        if state:
            for n in list(memory.unanswered)[:3]:
                memory.record_answer(n, state, "")
