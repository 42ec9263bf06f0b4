"""Moves of waiting messages: stranded ones move first, no node starves, and no message oscillates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.features.queues.model.declared.definition import QueueTerms
from mesh.features.queues.model.moves.queue_report import QueueReport
from mesh.features.queues.model.moves.redistribution import (
    APART,
    LONGEST,
    MOST,
    Mine,
    Move,
    RefusingNodes,
    may_move,
    moves,
)
from mesh.wire.limits import LARGEST_NUMBER
from tests.mesh.features.queues.model.making import queued

A, B, C = (bytes([n]) * 16 for n in (1, 2, 3))
NOW = 1000.0


def some(wants: int, *selectors: str, **more: Any) -> QueueReport:
    return QueueReport(wants, selectors=selectors, is_any=not selectors, **more)


def moving(
    mine: Mine, others: dict[bytes, QueueReport], busy: Collection[bytes] = (), now: float = NOW, **terms: Any
) -> dict[bytes, int]:
    """Return how many messages move to each node."""
    found = Counter[bytes]()
    for move in moves(QueueTerms(**terms), mine, others, busy, now):
        found[move.target] += move.messages
    return dict(found)


def stranded(n: int, since: float = NOW - 10, ready: int = 0, leaves: float = 0.0) -> Mine:
    """Return a load of `n` messages that no consumer here accepts, and `ready` others."""
    return Mine(n + ready, leaves, n, since)


def waiting(n: int, leaves: float = 0.0) -> Mine:
    """Return a load of `n` messages for consumers here."""
    return Mine(n, leaves)


def unfinished(n: int, passed: float) -> Mine:
    """Return n messages for consumers here that have finished nothing in `passed` s."""
    return Mine(n, 0.0, ready_since=NOW - passed)


@pytest.mark.parametrize(
    ("n", "others", "found"),
    [
        (20, {}, {}),  # C16
        (20, {A: some(256)}, {A: 20}),  # C14
        (20, {A: some(256), B: some(256)}, {A: 10, B: 10}),  # C13
        (7, {A: some(256), B: some(257)}, {A: 3, B: 4}),
        (1, {A: some(256), B: some(257)}, {B: 1}),
        (20, {A: some(4), B: some(256)}, {A: 4, B: 16}),
        (20, {A: some(4), B: some(5), C: some(6)}, {A: 4, B: 5, C: 6}),
        (20, {A: some(0), B: some(256)}, {B: 20}),
        (20, {A: some(256, is_leaving=True), B: some(3)}, {B: 3}),
        (0, {A: some(256)}, {}),
        # The node does not know the number per selector, so each selector may get all of it.
        (20, {A: some(256, "a"), B: some(9, "b"), C: some(256)}, {A: 20, B: 9, C: 20}),
        (20, {A: some(256, "a"), B: some(256, "a"), C: some(256, "b")}, {A: 10, B: 10, C: 20}),
    ],
)
def test_what_nobody_here_takes_goes_evenly_to_who_wants_it(
    n: int, others: dict[bytes, QueueReport], found: dict[bytes, int]
) -> None:
    assert moving(stranded(n), others) == found
    assert moving(stranded(n), others, distribution="independent") == found  # C18
    assert moving(stranded(n), others, distribution="strict") == {}  # C15
    assert moving(stranded(n), others, redistribution=None) == {}  # B3
    assert all(move.is_stranded for move in moves(QueueTerms(), stranded(n), others, (), NOW))


@pytest.mark.parametrize(
    ("delay", "since", "found"),
    [
        (0.2, NOW - 0.19, {}),  # C22
        (0.2, NOW - 0.2, {A: 20}),
        (0.0, NOW, {A: 20}),
        (0.0, inf, {}),  # C24
        (1.0, NOW + 5, {}),
        (3600.0, NOW - 3599, {}),
    ],
)
def test_it_goes_when_it_has_waited_long_enough(delay: float, since: float, found: dict[bytes, int]) -> None:
    assert moving(stranded(20, since), {A: some(256)}, redistribution=delay) == found


def test_C23_when_somebody_takes_again_in_time_nothing_goes() -> None:
    assert moving(waiting(0), {A: some(256)}, redistribution=0.2) == {}


@pytest.mark.parametrize(
    ("mine", "others", "found"),
    [
        (waiting(100), {A: some(256)}, {A: 50}),
        (waiting(100), {A: some(8)}, {A: 8}),
        (waiting(99), {A: some(256), B: some(256)}, {A: 33, B: 33}),
        (waiting(99), {A: some(2), B: some(256)}, {A: 2, B: 64}),
        (waiting(100, leaves=60.0), {A: some(256)}, {A: 20}),
        (waiting(100, leaves=100.0), {A: some(256)}, {}),  # done within a second
        (waiting(100, leaves=1e9), {A: some(256)}, {}),
        (waiting(1), {A: some(1)}, {A: 1}),  # it waits behind a long job
        (waiting(1, leaves=0.1), {A: some(1)}, {}),
        (waiting(1), {A: some(1), B: some(2), C: some(3)}, {C: 1}),
        # In the first second, consumers may be as fast as one more message in that time would show.
        (unfinished(4, 0.0), {A: some(9)}, {}),
        (unfinished(4, 0.25), {A: some(9)}, {}),
        (unfinished(4, 0.26), {A: some(9)}, {A: 1}),
        (unfinished(4, 0.6), {A: some(9)}, {A: 2}),
        (unfinished(1, 0.9), {A: some(9)}, {}),
        (unfinished(1, 1.1), {A: some(9)}, {A: 1}),
        (Mine(40, 0.0, ready_since=NOW - 0.5, finished=9), {A: some(99)}, {A: 10}),
        # Consumers here have credit for them.
        (Mine(4, 0.0, room=4), {A: some(9)}, {}),
        (Mine(4, 0.0, room=2), {A: some(9)}, {A: 1}),
        (waiting(0), {A: some(256)}, {}),
        (waiting(100), {A: some(0), B: some(9, is_leaving=True)}, {}),
        # Stranded messages have a delay of their own.
        (stranded(20, NOW, ready=0), {A: some(256)}, {}),
        (stranded(20, NOW, ready=100), {A: some(256)}, {A: 50}),
    ],
)
def test_who_has_nothing_to_do_gets_a_share_of_what_would_wait(
    mine: Mine, others: dict[bytes, QueueReport], found: dict[bytes, int]
) -> None:
    assert moving(mine, others) == found
    assert moving(mine, others, distribution="round_robin") == found
    assert not any(move.is_stranded for move in moves(QueueTerms(), mine, others, (), NOW))
    for terms in ({"distribution": "independent"}, {"distribution": "strict"}, {"redistribution": None}):
        assert moving(mine, others, **terms) == {}  # C4, C18, C15


def test_to_whom_something_moves_nothing_else_does() -> None:
    others = {A: some(256), B: some(256)}
    assert moving(stranded(20), others, busy=[A]) == {B: 20}
    assert moving(waiting(90), others, busy={A: 1}) == {B: 45}
    assert moving(stranded(20), others, busy=others) == {}


def test_what_nobody_here_takes_is_first_and_in_vain_stands_in_nobodys_way() -> None:
    others = {A: some(5, "a"), B: some(300)}
    assert moves(QueueTerms(), stranded(20, ready=8), others, (), NOW) == [
        Move(B, 20, True),
        Move(A, 5, True),
        Move(B, 4, False),
        Move(A, 4, False),
    ]


def test_two_that_both_have_much_to_do_do_not_play_with_a_message() -> None:
    """B18: each node gets its share, and then nothing moves."""
    ready = {A: 0, B: 90, C: 0}
    for _ in range(50):
        for node in ready:
            others = {o: QueueReport(max(0, 10 - ready[o]), ready[o]) for o in ready if o != node}
            for target, n in moving(waiting(ready[node], leaves=10.0), others).items():
                ready[node] -= n
                ready[target] += n
    assert ready == {A: 10, B: 70, C: 10}


stocks = st.builds(
    QueueReport,
    st.integers(0, 30) | st.just(LARGEST_NUMBER),
    selectors=st.sampled_from([(), ("a",), ("b",)]),
    is_any=st.booleans(),
    is_leaving=st.booleans(),
)
nodes = st.sampled_from([A, B, C, b"d" * 16, b"e" * 16])
mines = st.builds(
    lambda ready, leaves, stranded, since: Mine(ready + stranded, leaves, stranded, since),
    st.integers(0, 100),
    st.floats(0, 50),
    st.integers(0, 100),
    st.floats(NOW - 5, NOW + 5) | st.just(inf),
)
modes = st.sampled_from(["local", "round_robin", "strict", "independent"])


@given(mines, st.dictionaries(nodes, stocks), st.sets(nodes), modes, st.none() | st.floats(0, 5))
def test_nobody_gets_what_he_does_not_want(
    mine: Mine, others: dict[bytes, QueueReport], busy: set[bytes], mode: Any, delay: float | None
) -> None:
    terms = QueueTerms(distribution=mode, redistribution=delay)
    found = moves(terms, mine, others, busy, NOW)
    assert len({(move.target, move.is_stranded) for move in found}) == len(found)
    assert [move.is_stranded for move in found] == sorted((move.is_stranded for move in found), reverse=True)
    for move in found:
        stock = others[move.target]
        assert move.target not in busy and not stock.is_leaving
        assert 0 < move.messages <= stock.wants
    for is_stranded, most in ((True, mine.stranded), (False, max(0, mine.ready - mine.stranded))):
        by_taste = Counter[object]()
        for move in found:
            if move.is_stranded is is_stranded:
                stock = others[move.target]
                by_taste[stock.is_any, stock.selectors] += move.messages
        assert all(n <= most for n in by_taste.values())
    wanting = [s for node, s in others.items() if s.wants and node not in busy and not s.is_leaving]
    is_time = delay is not None and mode != "strict" and NOW - mine.stranded_since >= delay
    assert any(move.is_stranded for move in found) == bool(is_time and wanting and mine.stranded)


# --- the number of moves ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("times", "after", "stranded", "starving"),
    [
        (1, 0.0, True, False),
        (1, APART - 0.1, True, False),
        (1, APART, True, True),
        (MOST - 1, 0.0, True, False),
        (MOST - 1, APART, True, True),
        (MOST, 0.0, False, False),
        (MOST, APART, True, False),
        (255, APART, True, False),
    ],
)
def test_how_often_a_message_moves(times: int, after: float, stranded: bool, starving: bool) -> None:
    one = queued()
    one.moves, one.came = times, NOW
    assert may_move(one, True, NOW + after) is stranded
    assert may_move(one, False, NOW + after) is starving


def test_what_was_put_here_moves_at_once_and_what_is_of_a_group_only_when_nobody_takes_it() -> None:
    one, grouped = queued(), queued(put=(5, 0, "g"))
    assert may_move(one, True, 0.0) and may_move(one, False, 0.0)
    assert may_move(grouped, True, 0.0) and not may_move(grouped, False, inf)


# --- refusals -----------------------------------------------------------------------------------------------


def test_who_refuses_is_left_alone_for_longer_each_time_until_it_takes_something() -> None:
    it, now, pauses = RefusingNodes(), NOW, list[float]()
    for _ in range(7):
        it.close_node(A, now)
        it.close_node(A, now)  # of the same move
        assert it.closed_nodes(now) == {A}
        pause = next(s for s in range(1, 100) if not it.closed_nodes(now + s))
        pauses.append(pause)
        now += pause
    assert pauses == [1, 2, 4, 8, 16, LONGEST, LONGEST]
    it.close_node(B, now)
    it.close_node(A, now)
    it.open_node(A)
    assert it.closed_nodes(now) == {B}
    it.close_node(A, now)
    assert it.closed_nodes(now + 0.9) == {A, B} and not it.closed_nodes(now + 1)
