"""Reports of all local queues of a queue, combined into one."""

from __future__ import annotations

from math import inf, nan

from mesh.features.queues.model.looking.parts import SUMS, next_ones, together, total
from mesh.wire.replies import QueueRow
from tests.each import each
from tests.mesh.features.queues.model.making import envelope


def row(node: str, n: int) -> QueueRow:
    return QueueRow(name="jobs", node=node, oldest=float(n), in_vain=n, **dict.fromkeys(SUMS, n))  # type: ignore[arg-type]


def test_figures_are_summed_and_ages_are_not() -> None:
    whole = together(row("b", 1), [row("c", 20), row("a", 300)], ["x"])
    assert all(getattr(whole, name) == 321 for name in SUMS)
    assert (whole.oldest, whole.in_vain, whole.node, whole.missing) == (300.0, 300, "b", ["x"])
    assert [part.node for part in whole.parts] == ["b", "a", "c"]
    assert [part.ready for part in whole.parts] == [1, 300, 20]


def test_parts_in_which_nothing_is_and_from_which_nobody_takes_are_not_told() -> None:
    others = [
        row("c", 0),
        QueueRow(name="jobs", node="d", consumers=1),
        QueueRow(name="jobs", node="e", going=1),
    ]
    assert [part.node for part in together(row("b", 0), others).parts] == ["b", "d", "e"]


@each("wrong", [-1, 2**64, nan, inf, -inf, -0.5])
def test_what_nobody_can_have_counts_as_nothing(wrong: float) -> None:
    assert total([1, wrong, 2]) == 3


def test_what_comes_next_is_by_priority_and_age_and_as_much_as_was_asked_for() -> None:
    late, early = envelope(1, 3, at=9), envelope(4, 3, at=5)
    high = envelope(7, 2, at=20, put=(9, 0, ""))
    pieces = [(late, b"\0\1\2"), (early, b"\3\4\5"), (high, b"\6\7")]
    found = next_ones(pieces, 6, 10_000)
    numbers = [(e.number_list(range(e.count)), tries) for e, tries in found]
    assert [(list(some), tries) for some, tries in numbers] == [
        ([7, 8], b"\6\7"),
        ([4, 5, 6], b"\3\4\5"),
        ([1], b"\0"),
    ]
    assert [e.first for e, _ in next_ones(pieces, 8, 10_000)] == [7, 4, 1]
    assert [e.first for e, _ in next_ones(pieces, 2, 10_000)] == [7]
    assert [e.first for e, _ in next_ones(pieces, 8, -1)] == [7], "one piece at least"
    assert next_ones([], 8, 10_000) == []
