"""Positions that a master may forget, because this node's clients have the messages."""

from hypothesis import given
from hypothesis import strategies as st

from mesh.routing.stored_envelope import StoredEnvelope
from mesh.routing.upstream import Upstream
from tests.mesh.envelopes import envelope


def stored(position: int) -> StoredEnvelope:
    return StoredEnvelope(envelope(), position)


def test_only_what_everything_before_is_done_with_is_settled() -> None:
    upstream = Upstream()
    one, two, three = stored(1), stored(2), stored(5)
    assert all(upstream.record_envelope(p) for p in (one, two, three))
    assert upstream.settled == 0
    assert not upstream.release_envelope(two)
    assert upstream.settled == 0
    assert upstream.release_envelope(one)
    assert upstream.settled == 4
    assert upstream.release_envelope(three)
    assert upstream.settled == 5


def test_what_the_master_sends_again_is_a_repeat() -> None:
    upstream = Upstream()
    assert upstream.record_envelope(stored(3))
    assert not upstream.record_envelope(stored(3))
    assert not upstream.record_envelope(stored(2))
    assert upstream.settled == 2


def test_to_release_twice_changes_nothing() -> None:
    upstream = Upstream()
    one, two = stored(1), stored(2)
    upstream.record_envelope(one)
    upstream.record_envelope(two)
    upstream.release_envelope(one)
    upstream.release_envelope(one)
    assert upstream.settled == 1


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 5)), max_size=30))
def test_settled_is_just_below_the_oldest_that_is_open(scenario: list[tuple[int, int]]) -> None:
    upstream, waiting, position = Upstream(), list[StoredEnvelope](), 0
    for step, which in scenario:
        position += step
        waiting.append(stored(position))
        assert upstream.record_envelope(waiting[-1])
        if which < len(waiting):
            before = upstream.settled
            assert upstream.release_envelope(waiting.pop(which)) == (upstream.settled > before)
        assert upstream.settled == (waiting[0].position - 1 if waiting else position)
