"""The state of a space, against a model that is a dictionary, and its laws."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.features.spaces.model.space import (
    LEAST,
    MOST,
    OUTCOMES,
    Change,
    Head,
    Kind,
    Limits,
    Outcome,
    Outcomes,
    Value,
    Write,
    decide,
    expire,
    number_of,
    size_of,
)

KEYS = st.sampled_from(("a", "b", "c"))
VERSIONS = st.integers(-1, 12)
PUTS = st.builds(
    Write,
    st.sampled_from((Kind.PUT, Kind.PUT_IF, Kind.REMOVE)),
    KEYS,
    st.binary(max_size=3),
    VERSIONS,
    st.sampled_from((0, 5, 9)),
)
START = Head(generation=0)


def put(head: Head, value: Value | None, content: bytes = b"x", now: int = 0, **changes: object) -> Change:
    return decide(head, value, replace(Write(Kind.PUT, "k", content), **changes), Limits(), now)  # type: ignore[arg-type]


@given(st.lists(st.tuples(PUTS, st.integers(0, 10))))
def test_laws_1_2_and_4_a_map_behaves_as_a_dictionary_with_versions(steps: list[tuple[Write, int]]) -> None:
    head, rows = START, dict[str, Value]()
    model = dict[str, tuple[bytes, int, int]]()  # content, version and end by key
    latest, now = 0, 0
    for write, later in steps:
        now = max(now, later)
        model = {key: row for key, row in model.items() if not row[2] or now < row[2]}
        version = model[write.key][1] if write.key in model else 0
        change = decide(head, rows.get(write.key), write, Limits(), now)
        is_allowed = write.kind is Kind.PUT or write.version in (-1, version)
        assert change.outcome.code == ("" if is_allowed else "OTHER_VERSION")
        if is_allowed and write.kind is Kind.REMOVE:
            model.pop(write.key, None)
        elif is_allowed:
            assert change.outcome.version > latest
            model[write.key] = (write.content, change.outcome.version, write.expires)
        elif version:
            assert change.outcome == Outcome("OTHER_VERSION", version, model[write.key][0])
        latest, head = max(latest, change.head.version), change.head
        rows.pop(write.key, None)
        if change.value is not None:
            rows[write.key] = change.value
        present = {
            key: (row.content, row.version, row.expires) for key, row in rows.items() if row.is_present(now)
        }
        assert present == {key: row for key, row in model.items() if not row[2] or now < row[2]}
        assert (head.keys, head.size) == (len(rows), sum(size_of(key, row) for key, row in rows.items()))


@given(st.lists(st.integers(-(2**62), 2**62), max_size=8))
def test_a_counter_is_the_sum_of_what_was_added(amounts: list[int]) -> None:
    head, value, total = Head(), None, 0
    for amount in amounts:
        change = decide(head, value, Write(Kind.ADD, amount=amount), Limits(), 0)
        if LEAST <= total + amount <= MOST:
            total += amount
            assert number_of(change.outcome.content) == total
        else:
            assert change.outcome.code == "OVERFLOW" and not change.is_effective
        head, value = change.head, change.value
        assert number_of(value.content if value else b"") == total


def test_a_version_contains_the_generation_of_its_home() -> None:
    assert put(Head(generation=3, count=4), None).outcome.version == (3 << 40) + 5


@pytest.mark.parametrize(
    ("limits", "key", "content", "code"),
    [
        (Limits(keys=1), "k", b"longer", ""),  # no new key
        (Limits(keys=1), "n", b"x", "MAP_FULL"),
        (Limits(size=65), "k", b"", ""),  # fewer bytes than before, although the map is above its limit
        (Limits(size=65), "k", b"xxx", "MAP_FULL"),
    ],
)
def test_a_full_map_refuses_what_would_make_it_larger(
    limits: Limits, key: str, content: bytes, code: str
) -> None:
    full = put(Head(), None, b"xx")
    change = decide(full.head, full.value if key == "k" else None, Write(Kind.PUT, key, content), limits, 0)
    assert change.outcome.code == code and change.is_effective is not bool(code)


def test_an_expired_value_is_removed_once_and_gets_a_version() -> None:
    first = put(Head(), None, expires=5)
    assert first.value is not None
    after = expire(first.head, "k", first.value)
    assert after == Head(generation=1, count=2)
    assert first.value.is_present(4) and not first.value.is_present(5)


def test_law_3_a_repeated_write_has_its_first_outcome_until_it_is_answered() -> None:
    outcomes, first = Outcomes(), Outcome(version=7)
    assert outcomes.find(1) is None
    outcomes.record(1, 1, first)
    assert outcomes.find(1) == first and outcomes.find(2) is None
    outcomes.record(2, 2, Outcome(version=8))
    assert outcomes.find(1) == Outcome("STALE_WRITE") and outcomes.find(2) == Outcome(version=8)


def test_the_outcomes_of_a_session_are_bounded_and_low_never_covers_an_unanswered_write() -> None:
    outcomes = Outcomes()
    outcomes.record(1, 99, Outcome())
    assert outcomes.find(1) == Outcome()
    for count in range(2, 3 * OUTCOMES):
        outcomes.record(count, 1, Outcome(version=count))
    assert len(outcomes.rows) == OUTCOMES and outcomes.low == 2 * OUTCOMES
    outcomes.record(OUTCOMES, 1, Outcome())  # a late one does not return
    assert len(outcomes.rows) == OUTCOMES
