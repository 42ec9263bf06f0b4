"""Batches: nothing is visible before it is applied, and repeats have the first outcome."""

from mesh.features.spaces.model.batch import Batch, Numbered, SpaceState, with_generation
from mesh.features.spaces.model.space import Head, Kind, Limits, Outcome, Value, Write

JOE, ANN = b"j" * 16, b"a" * 16


def put(number: int, content: bytes, key: str = "k", stream: bytes = JOE, expires: int = 0) -> Numbered:
    return Numbered(stream, number, 1, Write(Kind.PUT, key, content, expires=expires))


def batch(state: SpaceState, now: int = 0) -> Batch:
    return Batch(state, Limits(), now)


def test_a_batch_changes_nothing_before_it_is_applied() -> None:
    state = SpaceState()
    one = batch(state)
    assert one.add_write(put(1, b"1")).version == one.add_write(put(2, b"2")).version - 1
    assert (state.values, state.outcomes, state.head) == ({}, {}, Head())
    one.apply()
    assert state.values["k"].content == b"2" and state.head.keys == 1
    assert list(state.outcomes[JOE].rows) == [1, 2]


def test_a_write_that_is_repeated_in_a_later_batch_has_its_first_outcome() -> None:
    state = SpaceState()
    first = batch(state)
    outcome = first.add_write(put(1, b"1"))
    first.apply()
    second = batch(state)
    assert second.add_write(put(2, b"2", stream=ANN)) != outcome
    assert second.add_write(put(1, b"1")) == outcome
    second.apply()
    assert state.values["k"].content == b"2", "the repeat had no effect"


def test_a_batch_that_is_dropped_leaves_the_numbers_free() -> None:
    state = SpaceState()
    batch(state).add_write(put(1, b"1"))
    again = batch(state)
    assert again.add_write(put(1, b"1")) == Outcome(version=(1 << 40) + 1)
    assert len(again.changes) == 1


def test_only_an_expired_value_is_removed() -> None:
    state = SpaceState()
    first = batch(state)
    first.add_write(put(1, b"1", expires=5))
    first.apply()
    early, late = batch(state, now=4), batch(state, now=5)
    early.add_expiry("k")
    late.add_expiry("k")
    late.add_expiry("other")
    assert early.changes == []
    assert [(change.key, change.value, change.is_expiry) for change in late.changes] == [("k", None, True)]
    late.apply()
    assert state.values == {} and state.head.keys == state.head.size == 0


def test_a_newer_generation_begins_above_all_versions_before() -> None:
    head = Head(1, 7, 1, 10)
    assert with_generation(head, 1) == head
    assert with_generation(head, 2) == Head(2, 0, 1, 10)
    assert with_generation(head, 2).version > head.version
    assert Value(b"", head.version).is_present(0)
