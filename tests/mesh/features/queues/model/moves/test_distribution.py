"""The distribution of new queue messages to nodes with consumers, in turn."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.features.queues.model.declared.definition import Distribution
from mesh.features.queues.model.envelopes.counts import count
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.moves import distribution
from mesh.features.queues.model.moves.distribution import Distributing
from mesh.features.queues.model.moves.queue_report import Matching
from mesh.features.queues.model.selecting.selector import Selector
from mesh.values import Headers
from tests.mesh.features.queues.model import making

ME, A, B, C, D = (bytes([n]) * 16 for n in (9, 1, 2, 3, 4))
ALL, NONE = Matching(None), Matching(())


def wants(*kinds: str) -> Matching:
    return Matching([Selector(f"kind == '{kind}'") for kind in kinds])


def queued(n: int = 1, first: int = 1, **more: Any) -> QueuedEnvelope:
    """Return a queued envelope that has just been put."""
    made = making.queued(first, n, **more)
    making.queue(made)
    return made


def numbers(shares: dict[bytes, list[tuple[int, int]]]) -> dict[bytes, list[int]]:
    return {node: [n for a, b in runs for n in range(a, b + 1)] for node, runs in shares.items()}


EVENS, ODDS, TEN = [1, 3, 5, 7, 9], [2, 4, 6, 8, 10], list(range(1, 11))


@pytest.mark.parametrize(
    ("mode", "takers", "homes", "shares"),
    [
        ("local", {}, None, {}),
        ("local", {ME: ALL, A: ALL}, None, {}),  # B6
        ("local", {A: ALL}, None, {A: TEN}),
        ("local", {A: NONE}, None, {}),
        ("local", {A: ALL, B: ALL}, None, {A: EVENS, B: ODDS}),  # B5
        ("local", {ME: NONE, A: ALL, B: ALL}, None, {A: EVENS, B: ODDS}),
        ("round_robin", {}, None, {}),
        ("round_robin", {ME: ALL, A: ALL}, None, {A: EVENS}),
        ("round_robin", {ME: NONE, A: ALL}, None, {A: TEN}),
        ("round_robin", {ME: ALL, A: ALL, B: ALL, C: ALL, D: ALL}, None,
         {A: [1, 6], B: [2, 7], C: [3, 8], D: [4, 9]}),  # C1
        ("strict", {}, [ME, A], {A: EVENS}),  # C3
        ("strict", {ME: ALL}, [A, ME], {A: EVENS}),
        ("strict", {A: ALL}, [ME], {}),
        ("strict", {A: ALL}, [], {}),
        ("strict", {A: ALL}, None, {}),
        ("strict", {}, [A, B], {A: EVENS, B: ODDS}),
        ("independent", {A: ALL}, None, {}),  # C4
        ("independent", {A: ALL}, [ME, A], {}),
        ("independent", {}, [A], {A: TEN}),  # none stays where it may not
        ("local", {A: ALL, B: ALL}, [ME, B], {B: TEN}),
        ("local", {A: ALL}, [ME, B], {}),
        ("local", {ME: ALL, A: ALL}, [B], {B: TEN}),
        ("local", {ME: ALL, A: ALL, B: ALL}, [A, B, C], {A: EVENS, B: ODDS}),
        ("local", {ME: ALL}, [], {}),  # none of these nodes is reachable
        ("round_robin", {ME: ALL, B: NONE}, [B], {B: TEN}),
    ],
)  # fmt: skip
def test_where_ten_messages_go(
    mode: Distribution,
    takers: dict[bytes, Matching],
    homes: list[bytes] | None,
    shares: dict[bytes, list[int]],
) -> None:
    assert numbers(Distributing(ME).shares(mode, queued(10), takers, homes)) == shares


def test_B5_one_gets_the_even_ones_and_the_other_the_odd_ones_one_by_one_and_together() -> None:
    for sizes in ([1] * 100, [100], [3] * 33 + [1], [1, 98, 1]):
        it, found, first = Distributing(ME), dict[bytes, list[int]](), 1
        for n in sizes:
            for node, some in numbers(it.shares("local", queued(n, first), {A: ALL, B: ALL})).items():
                found.setdefault(node, []).extend(some)
            first += n
        assert found == {A: list(range(1, 100, 2)), B: list(range(2, 101, 2))}


def test_C1_of_ten_that_are_put_one_by_one_each_of_five_gets_two() -> None:
    it, found = Distributing(ME), Counter[bytes]()
    for n in range(1, 11):
        found.update(it.shares("round_robin", queued(1, n), dict.fromkeys([ME, A, B, C, D], ALL)).keys())
    assert found == {A: 2, B: 2, C: 2, D: 2}  # two have stayed here


def test_B20_nothing_goes_where_nobody_wants_it() -> None:
    it, takers = Distributing(ME), {ME: NONE, A: wants("r")}
    assert it.shares("local", queued(100, kinds="b" * 100), takers) == {}
    assert it.shares("local", queued(1, 101, kinds="r"), takers) == {A: [(101, 101)]}
    assert it.shares("local", queued(4, 102, kinds="brrb"), takers) == {A: [(103, 104)]}


@pytest.mark.parametrize(
    ("takers", "shares"),
    [
        ({ME: wants("a"), A: wants("b")}, {A: [2, 4]}),
        ({ME: wants("a"), A: ALL}, {A: [2, 4, 5, 6]}),
        ({ME: wants("a"), A: ALL, B: ALL}, {A: [2, 5], B: [4, 6]}),
        ({A: wants("a"), B: wants("b"), C: wants("c")}, {A: [1, 3], B: [2, 4], C: [5, 6]}),
        ({A: wants("a", "c"), B: wants("a", "b")}, {A: [1, 5, 6], B: [2, 3, 4]}),
        ({ME: ALL, A: wants("a")}, {}),
        ({ME: wants("x"), A: wants("y")}, {}),
    ],
)
def test_each_message_goes_to_one_who_selects_it(
    takers: dict[bytes, Matching], shares: dict[bytes, list[int]]
) -> None:
    assert numbers(Distributing(ME).shares("local", queued(6, kinds="ababcc"), takers)) == shares


def test_what_alternates_does_not_upset_the_turn() -> None:
    takers = {A: wants("a"), B: wants("a"), C: wants("b"), D: wants("b")}
    found = numbers(Distributing(ME).shares("local", queued(8, kinds="abababab"), takers))
    assert found == {A: [1, 5], B: [3, 7], C: [2, 6], D: [4, 8]}


def test_by_key_and_priority_too() -> None:
    takers = {A: Matching([Selector("priority > 7")]), B: Matching([Selector("key == 'jobs'")])}
    it = Distributing(ME)
    assert set(it.shares("local", queued(2, put=(9, 0, "")), takers)) == {A, B}
    assert set(it.shares("local", queued(2, put=(3, 0, "")), takers)) == {B}


def home(it: Distributing, mode: Distribution, group: str, *others: bytes) -> bytes:
    """Return the one node to which all messages of a group go that are put here."""
    envelopes = [queued(3, first, put=(5, 0, group)) for first in (1, 4, 7)]
    takers = dict.fromkeys(others, ALL)
    (one,) = {
        tuple(it.shares(mode, each, takers, others if mode == "strict" else None)) for each in envelopes
    }
    return one[0] if one else ME


@pytest.mark.parametrize("mode", ["local", "round_robin", "strict"])
def test_a_group_goes_to_one_node_as_every_node_reckons_it(mode: Distribution) -> None:
    groups = [f"g{n}" for n in range(40)]
    homes = {group: home(Distributing(ME), mode, group, A, B, C, D) for group in groups}
    assert set(homes.values()) == {A, B, C, D}
    for group, at in homes.items():
        assert home(Distributing(b"x" * 16), mode, group, D, C, B, A) == at
        assert home(Distributing(ME), mode, group, A, B, C) in ({at} - {D} or {A, B, C})


def test_a_group_is_at_home_here_too() -> None:
    homes = [home(Distributing(ME), "round_robin", f"g{n}", ME, A) for n in range(40)]
    assert set(homes) == {ME, A}
    assert {home(Distributing(ME), "local", f"g{n}", ME, A) for n in range(40)} == {ME}


def test_what_is_delayed_or_gone_stays() -> None:
    assert Distributing(ME).shares("local", queued(3, put=(5, 1000, "")), {A: ALL}) == {}
    it = queued(5)
    it.take_out([(2, 3)])
    assert Distributing(ME).shares("local", it, {A: ALL}) == {A: [(1, 1), (4, 5)]}


def test_of_what_was_cut_the_right_messages_are_looked_at() -> None:
    whole = queued(6, kinds="ababab")
    whole.stored.envelope = whole.envelope.cut([1, 2, 5])
    whole.take_out([(1, 1), (4, 5)])
    assert numbers(Distributing(ME).shares("local", whole, {A: wants("b")})) == {A: [2, 6]}


def test_turns_of_nodes_that_come_and_go_are_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribution, "REMEMBERED", 10)
    it = Distributing(ME)
    for n in range(100):
        it.shares("local", queued(1), {A: ALL, n.to_bytes(16): ALL})
        assert len(it._turns) <= 10


kinds = st.text("abc", min_size=1, max_size=12)
someone = st.sampled_from([ALL, NONE, wants("a"), wants("b"), wants("a", "b")])
modes = st.sampled_from(["local", "round_robin", "strict", "independent"])
nodes = st.sampled_from([ME, A, B, C])


@given(
    st.lists(kinds, min_size=1, max_size=4),
    modes,
    st.dictionaries(nodes, someone),
    st.none() | st.sets(nodes),
    st.sampled_from(["", "g"]),
)
def test_a_message_goes_to_one_node_that_takes_it(
    envelopes: list[str], mode: Any, takers: dict[bytes, Matching], homes: set[bytes] | None, group: str
) -> None:
    it = Distributing(ME)
    for text in envelopes:
        shares = it.shares(mode, queued(len(text), kinds=text, put=(5, 0, group)), takers, homes)
        where = {n: node for node, some in numbers(shares).items() for n in some}
        assert ME not in shares and all(shares.values()) and where.keys() <= set(range(1, len(text) + 1))
        assert len(where) == sum(map(count, shares.values()))  # none goes to two nodes
        for n, kind in enumerate(text, 1):
            assert where.get(n, ME) in _may_have(kind, mode, takers, homes)


def _may_have(kind: str, mode: str, takers: dict[bytes, Matching], homes: set[bytes] | None) -> set[bytes]:
    """Return the nodes of which one gets a message of that kind."""
    header = Headers([("kind", kind)])
    takes = {node for node, each in takers.items() if each.takes("jobs", 5, header)}
    takes &= takes if homes is None else homes
    if mode == "strict":
        return homes or {ME}
    if homes is not None and ME not in homes:
        return takes or homes or {ME}
    if mode == "independent" or (mode == "local" and ME in takes):
        return {ME}
    return takes or {ME}
