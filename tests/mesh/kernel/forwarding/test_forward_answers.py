"""The effects of a next hop's answer on an entry."""

from typing import Any
from unittest.mock import Mock

import pytest

from mesh.kernel.forwarding.forward_answers import ForwardAnswers
from mesh.mapping.decision import CHANGING
from mesh.wire.commands import Answer, Outcome, Outcomes
from tests.mesh.envelopes import STREAM

LOOP, FULL = "CIRCULAR_LOOP", "QUEUE_FULL"


class Stage:
    """An entry that waits for the answer of frodo, and that was sent to sam before."""

    def __init__(
        self,
        was_divided: bool = False,
        is_lately: bool = False,
        is_known: bool = True,
        goes_back: bool = False,
    ) -> None:
        self.routing, self.context = Mock(), Mock()
        self.routing.put_off.is_lately = is_lately
        self.routing.tailback.returns.returns_entry.return_value = goes_back
        self.entry: Any = Mock(
            lacking={"frodo": Mock()}, former=("sam",), hops=["frodo"], was_divided=was_divided
        )
        self.routing.onward.find_answered.return_value = [(self.entry, 3, 4)] if is_known else []
        self.answers = ForwardAnswers(self.context, self.routing)

    def answered(self, hop: str, state: str) -> str:
        """Return the name of the effect, and the hop whose answer counts."""
        peer: Any = Mock()
        peer.node.name = hop
        self.answers.on_outcomes(peer, Outcomes((Outcome(STREAM, Answer("", 1, 9, state, text="so")),)))
        self.routing.shipping.schedule_send.assert_called_once_with(hop)
        done = []
        if (final := self.routing.tailback.record_final_answer).called:
            entry, counts, answer = final.call_args.args
            assert (entry, answer.first, answer.last, answer.state) == (self.entry, 3, 4, state)
            done.append(f"final {counts}")
        if self.routing.tailback.warn.called:
            done.append("warned")
        if (deferred := self.routing.put_off.defer_returned).called:
            done.append("changing" if deferred.call_args.args[2] else "deferred")
        if self.routing.warn_in_vain.called:
            done.append("others")
        return " ".join(done)


@pytest.mark.parametrize(
    ("hop", "state", "fields", "expected"),
    [
        ("frodo", "OK", {}, "final frodo"),
        ("frodo", FULL, {}, "final frodo"),
        ("frodo", "FORWARD_WARNING", {}, "warned"),
        ("frodo", CHANGING, {}, "changing"),
        ("frodo", CHANGING, {"goes_back": True}, "final frodo"),
        ("frodo", LOOP, {}, "final frodo"),
        ("frodo", LOOP, {"is_lately": True}, "deferred"),
        ("frodo", "OK", {"was_divided": True}, "final frodo others"),
        ("frodo", CHANGING, {"was_divided": True}, "final frodo others"),
        ("frodo", LOOP, {"was_divided": True, "is_lately": True}, "final frodo others"),
        ("sam", "OK", {}, "final frodo"),
        ("sam", "OK", {"was_divided": True}, ""),
        ("sam", FULL, {}, ""),
        ("sam", CHANGING, {}, ""),
        ("sam", "FORWARD_WARNING", {}, ""),
        ("bilbo", "OK", {}, ""),
        ("bilbo", CHANGING, {"is_lately": True}, ""),
    ],
)
def test_each_answer_counts_as_the_table_says(
    hop: str, state: str, fields: dict[str, bool], expected: str
) -> None:
    stage = Stage(**fields)
    assert stage.answered(hop, state) == expected
    assert not stage.context.counters.add_count.called


def test_an_answer_that_no_entry_waits_for_is_counted() -> None:
    stage = Stage(is_known=False)
    assert stage.answered("frodo", "OK") == ""
    stage.context.counters.add_count.assert_called_once_with("unasked")


def test_an_answer_of_a_site_opens_its_window() -> None:
    stage = Stage()
    stage.answers.on_answer(stage.entry, "frodo", Answer("", 3, 4))
    stage.routing.shipping.schedule_send.assert_called_once_with("frodo")
    assert stage.routing.tailback.record_final_answer.called


def test_progress_of_the_queue_is_noted() -> None:
    stage = Stage()
    stage.answered("frodo", "OK")
    assert stage.routing.onward.line_of.return_value.progress is stage.context.clock.now
