"""The reasons why messages of a local queue are not done, in texts of limited length."""

from __future__ import annotations

from collections.abc import Collection
from math import inf
from typing import Any

import pytest

from mesh.features.queues.model.looking.reasons import LONG, SHOWN, reasons
from mesh.features.queues.model.moves.queue_report import QueueReport
from tests.mesh.features.queues.model import making
from tests.mesh.features.queues.model.making import queue, queued, taker

NO_WAY = "this node is being drained, and no other node can accept messages now"
CANCEL = "(`mesh drain --cancel` at that node ends the drain)"
FULL = "refused messages a moment ago"
A_WANTS = {"a": QueueReport(5)}


def why(
    it: Any, others: dict[str, QueueReport] | None = None, closed: Collection[str] = ()
) -> dict[str, int]:
    return {text: n for n, text, _ in reasons(it, others or {}, closed, 0.0)}


@pytest.mark.parametrize(
    ("terms", "others", "closed", "text"),
    [
        ({}, {}, (), "no other node has a consumer"),
        ({"scope": "node"}, {}, (), "the queue exists only at this node"),
        ({"redistribution": None}, A_WANTS, (), "keep the messages here, although consumers are at a"),
        ({"distribution": "strict"}, A_WANTS, (), "keep the messages here"),
        ({}, {"b": QueueReport(), "a": QueueReport()}, (), "consumers at a, b have no credit"),
        ({}, A_WANTS, ("a",), "a refused messages a moment ago"),
        ({}, {**A_WANTS, "b": QueueReport()}, (), "they move to a after 1 s"),
        ({}, {"a": QueueReport(5, selectors=("x = 1",), is_any=False)}, (), "where 'x = 1' is selected"),
    ],
)
def test_what_is_elsewhere(
    terms: dict[str, Any], others: dict[str, QueueReport], closed: Collection[str], text: str
) -> None:
    (found,) = why(queue(queued(1, 3), **terms), others, closed).items()
    assert found[0].startswith("no consumer is here; ") and text in found[0] and found[1] == 3


@pytest.mark.parametrize(
    ("ways_out", "closed", "drained", "text"),
    [
        (["b"], (), (), "this node is being drained: they move to b"),
        (["b"], (), ["c"], "this node is being drained: they move to b"),
        ([], (), (), NO_WAY),
        ([], ["b"], (), f"{NO_WAY}; b {FULL}"),
        ([], (), ["c", "b"], f"{NO_WAY}; also being drained: b, c {CANCEL}"),
        ([], ["b"], ["b"], f"{NO_WAY}; also being drained: b {CANCEL}"),
        ([], ["b", "c"], ["b"], f"{NO_WAY}; also being drained: b {CANCEL}; c {FULL}"),
    ],
)
def test_where_it_goes_when_the_node_is_drained(
    ways_out: list[str], closed: Collection[str], drained: Collection[str], text: str
) -> None:
    it = queue(queued(1, 3))
    assert list(reasons(it, A_WANTS, closed, 0.0, ways_out=ways_out, drained=drained)) == [(3, text, False)]
    own = queue(queued(1, 3), scope="node")
    assert "no consumer is here" in next(reasons(own, {}, (), 0.0, ways_out=[]))[1]


def test_each_message_has_one_reason_but_what_is_gone() -> None:
    it = queue(queued(1, 4, kinds="abcc"), queued(5, put=(5, 60_000, "")))
    it.consumers.add_consumer(taker("joe", 1, "kind == 'c'"))
    making.given(it)
    found = why(it)
    assert sum(found.values()) == it.backlog.messages == 5
    assert [n for text, n in found.items() if "selects them: kind == 'c'" in text] == [2]
    assert [
        n for text, n in found.items() if text.startswith("no consumer here is free: 1 consumer with")
    ] == [1]
    assert [n for text, n in found.items() if text.startswith("delayed")] == [1]
    assert [n for text, n in found.items() if text.startswith("delivered to a consumer")] == [1]
    assert why(queue()) == {}


def test_who_is_away_takes_nothing() -> None:
    it, joe = queue(queued(1)), taker("joe")
    it.consumers.add_consumer(joe)
    assert "about to be delivered" in next(iter(why(it)))
    joe.away = 1.0
    assert next(iter(why(it))).startswith("no consumer is here")
    joe.away = inf
    assert "about to be delivered" in next(iter(why(it)))


def test_words_are_short_and_printable_whatever_others_say() -> None:
    others = {
        f"node{n}\x1b[1m": QueueReport(5, selectors=("\x1b[1m" + "x" * 3000,), is_any=False)
        for n in range(100)
    }
    (text,) = why(queue(queued(1)), others)
    assert "\x1b" not in text and len(text) < (2 * SHOWN + 2) * (LONG + 20)
    assert "and 96 more" in text


@pytest.mark.parametrize("others, is_cause", [({}, True), ({"a": QueueReport()}, True), (A_WANTS, False)])
def test_messages_that_no_consumer_here_or_elsewhere_accepts_are_a_cause(
    others: dict[str, QueueReport], is_cause: bool
) -> None:
    assert [why.is_cause for why in reasons(queue(queued(1, 3)), others, (), 0.0)] == [is_cause]
