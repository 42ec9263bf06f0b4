"""The assignment of messages to moves: in turn, and at most what each node accepts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.features.queues.model.envelopes.queued_envelope import EnvelopeKey, QueuedEnvelope
from mesh.features.queues.model.moves import dealing
from mesh.features.queues.model.moves.dealing import DealtPiece, ReadyScan
from mesh.features.queues.model.moves.queue_report import Matching, matching_here
from mesh.features.queues.model.moves.redistribution import APART, MOST, Move
from mesh.features.queues.model.part.local_queue import LocalQueue
from mesh.features.queues.model.selecting.selector import Selector
from mesh.values import Headers
from tests.mesh.features.queues.model import making
from tests.mesh.features.queues.model.making import queue, queued, taker

A, B, C = (bytes([n]) * 16 for n in (1, 2, 3))
ALL, NONE = Matching(None), Matching(())
NOW = 1000.0


def wants(*kinds: str) -> Matching:
    return Matching([Selector(f"kind == '{kind}'") for kind in kinds])


def numbers(found: dict[bytes, list[DealtPiece]]) -> dict[bytes, list[int]]:
    return {
        node: [n for _, runs in pieces for first, last in runs for n in range(first, last + 1)]
        for node, pieces in found.items()
    }


def dealt(
    it: LocalQueue, *moves: Move, here: Matching = NONE, now: float = NOW, **takers: Matching
) -> dict[bytes, list[int]]:
    known = {A: ALL, B: ALL, C: ALL, **{globals()[name]: each for name, each in takers.items()}}
    return numbers(ReadyScan(it, here, {}).deal(moves, known, now))


def stranded(target: bytes, n: int) -> Move:
    return Move(target, n, True)


def starving(target: bytes, n: int) -> Move:
    return Move(target, n, False)


EVENS, ODDS, TEN = [1, 3, 5, 7, 9], [2, 4, 6, 8, 10], list(range(1, 11))


@pytest.mark.parametrize("sizes", [[10], [1] * 10, [3, 1, 6]])
@pytest.mark.parametrize(
    ("moves", "found"),
    [
        ([stranded(A, 10)], {A: TEN}),
        ([stranded(A, 99)], {A: TEN}),
        ([stranded(A, 4)], {A: [1, 2, 3, 4]}),
        ([stranded(A, 5), stranded(B, 5)], {A: EVENS, B: ODDS}),  # C13
        ([stranded(A, 2), stranded(B, 8)], {B: [1, 3, 5, 6, 7, 8, 9, 10], A: [2, 4]}),
        ([stranded(A, 4), stranded(B, 5)], {B: [1, 3, 5, 7, 9], A: [2, 4, 6, 8]}),
        ([stranded(A, 2), stranded(B, 2), stranded(C, 1)], {A: [1, 4], B: [2, 5], C: [3]}),
        ([starving(A, 5)], {}),  # no consumer here accepts it
        ([], {}),
    ],
)
def test_ten_that_are_stranded_go_in_turn(
    sizes: list[int], moves: list[Move], found: dict[bytes, list[int]]
) -> None:
    firsts = [1 + sum(sizes[:i]) for i in range(len(sizes))]
    assert dealt(queue(*map(queued, firsts, sizes)), *moves) == found


def test_what_somebody_here_takes_goes_only_to_who_has_nothing_to_do() -> None:
    it = queue(queued(1, 6, kinds="ababab"))
    here = wants("a")
    assert dealt(it, stranded(A, 9), starving(B, 9), here=here) == {A: [2, 4, 6], B: [1, 3, 5]}
    assert dealt(it, stranded(A, 9), starving(A, 9), here=here) == {A: [2, 4, 6]}
    assert dealt(it, stranded(A, 9), starving(A, 2), here=here, A=wants("a")) == {A: [1, 3]}
    assert dealt(it, stranded(A, 9), here=ALL) == {}


def test_everybody_gets_what_he_takes() -> None:
    it = queue(queued(1, 6, kinds="abcabc"))
    moves = [stranded(node, 9) for node in (A, B, C)]
    assert dealt(it, *moves, A=wants("a"), B=wants("b"), C=NONE) == {A: [1, 4], B: [2, 5]}
    assert dealt(it, *moves, A=wants("a"), B=wants("a"), C=wants("x")) == {A: [1], B: [4]}


def test_what_is_of_a_group_goes_to_its_home_alone_and_not_while_somebody_has_some() -> None:
    envelopes = [queued(n, put=(5, 0, f"g{n % 3}")) for n in range(1, 10)]
    it = queue(*envelopes)
    found = dealt(it, *(stranded(node, 9) for node in (A, B, C)))
    assert sorted(n for some in found.values() for n in some) == list(range(1, 10))
    homes = {n % 3: node for node, some in found.items() for n in some}
    assert all(homes[n % 3] == node for node, some in found.items() for n in some)
    home = homes[1]
    others = [node for node in (A, B, C) if node != home]
    elsewhere = dealt(it, *(stranded(node, 9) for node in others))
    assert not {1, 4, 7} & {n for some in elsewhere.values() for n in some}
    joe = taker("joe", credit=1)
    it.consumers.add_consumer(joe)
    making.given(it)
    gone = {n for some in dealt(it, *(stranded(node, 9) for node in (A, B, C))).values() for n in some}
    assert gone == {2, 5, 8, 3, 6, 9}


def test_the_last_one_of_a_group_goes_home_though_the_move_is_to_another_node() -> None:
    it = queue(queued(1, put=(5, 0, "joe")))
    known = {A: ALL, B: ALL, C: ALL}
    (home,) = dealt(it, *(stranded(node, 1) for node in known))
    other = next(node for node in known if node != home)
    for wants_, found in (({home: 5, other: 9}, {home: [1]}), ({other: 9}, {}), ({}, {})):
        look = ReadyScan(it, NONE, {})
        assert numbers(look.deal([stranded(other, 1)], known, NOW, wants_)) == found
        assert look.deal([], known, NOW, wants_) == {}


def test_a_group_is_at_home_where_its_messages_are_taken() -> None:
    it = queue(queued(1, 2, put=(5, 0, "joe"), kinds="xy"))
    for node, other in ((A, B), (B, A)):
        known = {node: wants("x"), other: wants("z")}
        moves = [stranded(A, 9), stranded(B, 9)]
        assert numbers(ReadyScan(it, NONE, {}).deal(moves, known, NOW)) == {node: [1]}


def test_what_has_moved_too_often_stays() -> None:
    one = queued(1)
    one.moves, one.came = MOST, NOW
    it = queue(one, queued(2))
    assert dealt(it, stranded(A, 9)) == {A: [2]}
    assert dealt(it, stranded(A, 9), now=NOW + APART) == {A: [1, 2]}
    one.moves = 1
    assert dealt(it, starving(A, 9), here=ALL, now=NOW) == {A: [2]}


# --- amounts ------------------------------------------------------------------------------------------------


def test_how_much_is_stranded() -> None:
    it = queue(queued(1, 6, kinds="aabbbc"))
    assert [ReadyScan(it, here, {}).stranded for here in (NONE, ALL, wants("a"), wants("a", "b"))] == [
        6,
        0,
        4,
        1,
    ]
    it.consumers.add_consumer(taker("joe", 10, "kind == 'b'"))
    assert ReadyScan(it, matching_here(it.consumers.eligible()), {}).stranded == 3
    assert ReadyScan(it, NONE, {}).is_whole


def test_a_look_goes_on_behind_what_is_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dealing, "SEEN", 4)
    it = queue(
        *(queued(n, put=(9 if n < 3 else 5, 0, ""), kinds="x") for n in range(1, 9)), queued(9, kinds="a")
    )
    here, place, met = wants("y"), dict[int, EnvelopeKey](), list[list[int]]()
    for _ in range(4):
        look = ReadyScan(it, here, place)
        met.append([each.queued.envelope.first for each in look.seen])
        if found := numbers(look.deal([stranded(A, 9)], {A: wants("a")}, NOW)):
            assert found == {A: [9]} and not look.is_whole
            break
        place = look.next_start()
    assert met == [[1, 2, 3, 4], [5, 6, 7, 8], [9]]
    assert look.next_start() == {}
    assert not ReadyScan(it, here, {}).is_whole and ReadyScan(it, here, {}).stranded == 4


def test_a_look_is_no_longer_than_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dealing, "DEALT", 10)
    it = queue(*(queued(n) for n in range(1, 100)))
    look = ReadyScan(it, NONE, {})
    assert len(look.seen) == 10 and look.stranded == 99 and not look.is_whole
    assert len(ReadyScan(it, NONE, {}, 3).seen) == 3 and len(ReadyScan(it, NONE, {}, 2**63).seen) == 10


kinds = st.text("abc", min_size=1, max_size=6)
tastes = st.sampled_from([ALL, NONE, wants("a"), wants("b"), wants("a", "c")])


@given(
    st.lists(kinds, max_size=6),
    st.lists(st.builds(Move, st.sampled_from([A, B, C]), st.integers(1, 8), st.booleans()), max_size=6,
             unique_by=lambda m: (m.target, m.is_stranded)),
    tastes,
    st.fixed_dictionaries({A: tastes, B: tastes, C: tastes}),
)  # fmt: skip
def test_nobody_gets_too_much_or_what_he_does_not_take(
    contents: list[str], moves: list[Move], here: Matching, takers: dict[bytes, Matching]
) -> None:
    envelopes, first = list[QueuedEnvelope](), 1
    for text in contents:
        envelopes.append(queued(first, len(text), kinds=text))
        first += len(text)
    every: dict[int, Any] = dict(enumerate("".join(contents), 1))
    found = numbers(ReadyScan(queue(*envelopes), here, {}).deal(moves, takers, NOW))
    given_out = Counter(n for some in found.values() for n in some)
    assert all(times == 1 for times in given_out.values())
    for node, some in found.items():
        assert some == sorted(some)
        is_stranded = not _takes(here, every[some[0]])
        (most,) = [m.messages for m in moves if m.target == node and m.is_stranded is is_stranded]
        assert len(some) <= most
        assert all(_takes(takers[node], every[n]) for n in some)
        assert all(_takes(here, every[n]) is not is_stranded for n in some)


def _takes(matching: Matching, kind: str) -> bool:
    return matching.takes("jobs", 5, Headers([("kind", kind)]))
