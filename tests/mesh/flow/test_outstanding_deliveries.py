"""The deliveries that a consumer has not settled."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import RemoteError
from mesh.flow.outstanding_deliveries import OutstandingDeliveries, ranges_of, spans_of
from tests.each import each


@dataclass(eq=False)
class Run:
    """A run of messages, each represented by a number."""

    tag: int
    n: int
    messages: range

    def part(self, start: int, end: int) -> Run:
        return Run(start, end - start + 1, self.messages[start - self.tag : end - self.tag + 1])

    def by_tag(self) -> dict[int, int]:
        return dict(zip(range(self.tag, self.tag + self.n), self.messages, strict=True))


def by_tag(runs: list[Run]) -> dict[int, int]:
    return {tag: message for run in runs for tag, message in run.by_tag().items()}


def delivered(*sizes: int) -> OutstandingDeliveries[Run]:
    holding, message = OutstandingDeliveries[Run](), 100
    for n in sizes:
        holding.add(Run(holding.given + 1, n, range(message, message + n)))
        message += n
    return holding


sizes = st.integers(1, 5)
tags = st.integers(1, 12)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), sizes, st.just(0)),
        st.tuples(st.just("skip"), sizes, st.just(0)),
        st.tuples(st.just("settle"), tags, st.integers(0, 9)),
        st.tuples(st.just("settle first"), st.just(0), st.just(0)),
        st.tuples(st.just("take"), st.just(0), st.just(0)),
    ),
    max_size=20,
)


@given(steps)
def test_laws_1_and_3_each_message_has_its_tag_and_is_settled_once(steps: list[tuple[str, int, int]]) -> None:
    holding, out, given, message = OutstandingDeliveries[Run](), dict[int, int](), 0, 0
    for what, n, more in steps:
        if what == "add":
            holding.add(Run(given + 1, n, range(message, message + n)))
            out |= {given + 1 + i: message + i for i in range(n)}
            given, message = given + n, message + n
        elif what == "skip":
            holding.skip(n)
            given += n
        elif what.startswith("settle"):
            oldest = next(iter(holding), Run(1, 1, range(0)))
            first, last = (n, n + more) if what == "settle" else (oldest.tag, oldest.tag + oldest.n - 1)
            if last > given:
                with pytest.raises(RemoteError) as refused:
                    holding.settle(first, last)
                assert refused.value.code == "FORGED_ACK"
                continue
            found = by_tag(holding.settle(first, last))
            assert found == {tag: out.pop(tag) for tag in sorted(out) if first <= tag <= last}
        else:
            assert by_tag(holding.take_all()) == out
            out = {}
        assert (by_tag(list(holding)), holding.given, holding.out) == (out, given, len(out))
        assert [run.tag for run in holding] == sorted(run.tag for run in holding)


@each("ranges", [(0, 1), (1, 3), (2, 1), (1,), (1, 2, 5), (1, 2**32 - 1), (3, 3), (0, 0)])
def test_what_was_never_given_cannot_be_settled(ranges: tuple[int, ...]) -> None:
    holding = delivered(2)
    with pytest.raises(RemoteError):
        for first, last in ranges_of(ranges):
            holding.settle(first, last)


def test_half_a_range_is_refused() -> None:
    assert list(ranges_of((1, 2, 5, 5))) == [(1, 2), (5, 5)]
    with pytest.raises(RemoteError) as refused:
        list(ranges_of((1, 2, 3)))
    assert refused.value.code == "MALFORMED"


@given(st.lists(st.integers(1, 9)))
def test_spans_have_all_tags_in_their_order(tags: list[int]) -> None:
    spans = spans_of(tuple(tags))
    assert [tag for _, first, last in spans for tag in range(first, last + 1)] == tags
    assert all(tags[start] == first for start, first, _ in spans)
    assert all(a[2] + 1 != b[1] for a, b in pairwise(spans)), "each is as long as it can be"
