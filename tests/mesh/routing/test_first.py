"""The mark of the one master that accepts a message for durable subscriptions, while its masters change."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.routing.first import first_of, mark
from mesh.routing.forward_table import ForwardTable
from mesh.routing.pending_forward import HERE, PendingForward
from mesh.wire.envelope import SECOND
from tests.mesh.envelopes import envelope
from tests.mesh.origins import CLIENT

NAMES = ("a", "b", "c", "me")


def can(**known: Any) -> Any:
    return lambda name: known.get(name, True)


@pytest.mark.parametrize(
    ("takes", "first"),
    [
        (can(), "a"),
        (can(a=None), "b"),
        (can(a=False, b=None), "c"),
        (can(a=None, b=None, c=None, me=None), "a"),
        (can(a=False, b=None, c=None, me=False), "b"),
        (can(a=False, b=False, c=False, me=False), ""),
    ],
)
def test_the_first_is_the_first_by_name_that_can_have_it(takes: Any, first: str) -> None:
    assert first_of(reversed(NAMES), takes) == first


class Scenario:
    """An entry that is routed several times. It records which masters had a copy, and which had the mark."""

    def __init__(self) -> None:
        self.onward = ForwardTable(1 << 20, 100)
        self.entry: PendingForward = self.onward.add(envelope(), CLIENT, 0.0)
        self.bound: set[str] = set()  # masters that took it for durable subscriptions
        self.had: set[str] = set()
        self.lacking = 0

    def decide(self, masters: tuple[str, ...], takes: Any) -> None:
        self.lacking += mark(self.entry, masters, "me", takes)
        hops = [HERE if name == "me" else name for name in masters] or ["way"]
        is_new = "me" in masters and HERE not in self.entry.lacking
        self.onward.set_next_hops(self.entry, hops, "")
        if is_new:
            self._take("me")

    def send(self, name: str) -> None:
        if name in self.entry.hops and name != "way":
            self._take(name)

    def _take(self, name: str) -> None:
        entry = self.entry
        entry.presume_sent()
        is_first = entry.first == name
        entry.first_was_sent |= is_first
        is_alone = not entry.first and not entry.envelope.flags & SECOND
        if name not in self.had and (is_first or is_alone):
            self.bound.add(name)
        self.had.add(name)


masters = st.lists(st.sampled_from(NAMES), min_size=1, unique=True).map(tuple)
known = st.fixed_dictionaries(dict.fromkeys(NAMES, st.sampled_from((True, None, False))))


@given(masters.filter(lambda m: len(m) > 1), st.lists(st.tuples(masters, known, st.sampled_from(NAMES))))
def test_of_what_is_divided_one_master_at_most_takes_it(
    first: tuple[str, ...], steps: list[tuple[tuple[str, ...], dict[str, Any], str]]
) -> None:
    scenario = Scenario()
    scenario.decide(first, can(me=True))
    for some, who, name in steps:
        scenario.send(name)
        scenario.decide(some, can(**{**who, "me": True}))
    assert len(scenario.bound) <= 1
    if not scenario.bound and scenario.had:  # then it waits, or the loss is reported
        waits = scenario.entry.first and scenario.entry.first not in scenario.had
        assert waits or scenario.lacking == 1 or not scenario.entry.envelope.flags & SECOND


def test_what_has_the_mark_and_was_sent_keeps_it_though_another_comes_before_it_by_name() -> None:
    scenario = Scenario()
    scenario.decide(("b", "c"), can())
    scenario.send("b")
    scenario.decide(("a", "b", "c"), can())
    scenario.send("a")
    scenario.send("c")
    assert scenario.bound == {"b"} and scenario.lacking == 0


def test_what_was_not_sent_goes_to_another_with_the_mark() -> None:
    scenario = Scenario()
    scenario.decide(("a", "b"), can(a=None, b=None))
    scenario.decide(("b", "c"), can())
    assert scenario.entry.first == "b"


def test_when_the_first_is_master_no_more_and_may_have_it_nobody_else_takes_it_and_that_is_told() -> None:
    scenario = Scenario()
    scenario.decide(("a", "b"), can())
    scenario.send("a")
    scenario.decide(("b", "c"), can())
    scenario.send("b")
    scenario.send("c")
    assert scenario.bound == {"a"} and scenario.lacking == 1
    scenario.decide(("c",), can())
    assert scenario.lacking == 1, "once"
