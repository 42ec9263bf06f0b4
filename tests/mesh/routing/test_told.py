"""Interest messages to a peer: complete, in order, and in parts of limited size."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.routing.told import EACH, in_one, parts
from mesh.wire.commands import Interest, Query, decode
from mesh.wire.limits import INTEREST_PART

LONG = "k" * 512
queries = st.builds(
    Query,
    st.just("exact"),
    st.sampled_from(["a", "b" * 500, "\N{SNOWMAN}" * 512]),
    st.text("xyz", max_size=9),
)
several = st.lists(queries, max_size=900, unique=True).map(tuple)


def heard(frames: Iterator[bytes]) -> list[Interest]:
    commands = [decode(frame) for frame in frames]
    assert all(isinstance(command, Interest) for command in commands)
    return commands  # type: ignore[return-value]


def exact(count: int, text: str = "sensors/{}/temperature") -> tuple[Query, ...]:
    return tuple(Query("exact", text.format(number)) for number in range(count))


@given(several, several, st.booleans())
def test_all_of_it_is_told_in_order_and_only_the_last_part_is_the_last(
    add: tuple[Query, ...], remove: tuple[Query, ...], full: bool
) -> None:
    whole = Interest(7, full, add, remove, ((b"m" * 16, 5),))
    frames = list(parts(whole))
    told = heard(iter(frames))
    assert sum((part.add for part in told), ()) == add
    assert sum((part.remove for part in told), ()) == remove
    assert [part.more for part in told] == [True] * (len(told) - 1) + [False]
    assert {(part.version, part.full) for part in told} == {(7, full)}
    assert [part.positions for part in told] == [whole.positions] + [()] * (len(told) - 1)
    assert all(len(part.add) + len(part.remove) <= EACH for part in told)
    assert max(map(len, frames)) <= INTEREST_PART
    last_removed = max((i for i, part in enumerate(told) if part.remove), default=0)
    assert not any(part.add for part in told[:last_removed])


@pytest.mark.parametrize("count", [0, 1, EACH])
def test_what_is_little_is_one_part(count: int) -> None:
    (part,) = heard(parts(Interest(1, True, exact(count))))
    assert part == Interest(1, True, exact(count))


def test_positions_that_fill_a_part_alone_leave_room_for_no_more_than_one_query() -> None:
    positions = tuple((bytes(12) + number.to_bytes(4), 2**41) for number in range(4096))
    told = heard(parts(Interest(1, True, exact(1000), positions=positions)))
    assert told[0].positions == positions and len(told[0].add) == 1
    assert sum((part.add for part in told), ()) == exact(1000)


def test_to_version_1_it_is_one_frame() -> None:
    whole = Interest(3, True, exact(100_000), exact(10, "other/{}"), ((b"m" * 16, 5),))
    (frame,) = in_one(whole, 2**24)
    assert decode(frame) == whole


def test_to_version_1_what_does_not_fit_follows_as_a_change() -> None:
    whole = Interest(3, True, exact(5000, LONG + "/{}"), (), ((b"m" * 16, 5),))
    frames = list(in_one(whole, 2**20))
    told = heard(iter(frames))
    assert [part.full for part in told] == [True] + [False] * (len(told) - 1) and len(told) > 2
    assert not any(part.more for part in told) and max(map(len, frames)) <= 2**20
    assert sum((part.add for part in told), ()) == whole.add
    (first, *others) = told
    assert first.positions and not any(part.positions for part in others)
