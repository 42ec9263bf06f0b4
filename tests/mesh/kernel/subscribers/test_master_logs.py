"""Questions to masters: gathered by session until the end of an event, and the shares of their answers."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from mesh.errors import LocalError
from mesh.kernel.routes.peer_calls import PeerReply
from mesh.kernel.subscribers.master_logs import Answer, MasterLogs, answers_of
from mesh.kernel.subscribers.relayed_calls import RelayedCalls
from mesh.kernel.subscribers.resume_source import ResumeSource
from mesh.wire.calls import AskResume, ResumeRow
from mesh.wire.commands import Certificate, Query
from mesh.wire.limits import RESUMED, VISITS
from mesh.wire.replies import Resumed, ResumedPage
from tests.mesh.envelopes import envelope
from tests.mesh.routing.feeds import HERON, ME

JOE = AskResume(certificate=Certificate("client/joe", b"j" * 32, 2, ME, b"s" * 64))
ANN = AskResume(certificate=Certificate("client/ann", b"a" * 32, 2, ME, b"s" * 64))
A, B = envelope("a", persistent=True), envelope("b", persistent=True)


def row(number: int) -> ResumeRow:
    return ResumeRow(number, Query("exact", "k"))


class Stage:
    """A node whose peer heron is a master."""

    def __init__(self) -> None:
        context: Any = Mock(out=Mock(ending={}))
        context.me.uuid = ME
        self.peer: Any = Mock(speaks={VISITS})
        self.out, self.calls, self.answers = context.out, Mock(), list[Answer]()
        self.source: Any = Mock()
        self.nodes: Any = Mock(is_open=True)
        neighbours: Any = Mock(peers={HERON: self.peer})
        relayed = RelayedCalls(context, neighbours, self.nodes, self.calls)
        self.logs = MasterLogs(context, neighbours, relayed, self.source)

    def ask(self, *numbers: int, head: AskResume = JOE, master: bytes = HERON) -> Stage:
        for number in numbers:
            assert self.logs.ask(master, head, row(number), self.answers.append)
        return self

    def end_event(self) -> list[AskResume]:
        while self.out.ending:
            self.out.ending.popitem()[0]()
        return [call.args[1] for call in self.calls.ask_all.call_args_list]

    def reply(self, value: Resumed, *envelopes: Any, code: str = "") -> None:
        then = self.calls.ask_all.call_args.args[3]
        then({HERON: PeerReply(value, [(each, ("", None, b"")) for each in envelopes], code)}, [])

    @property
    def codes(self) -> list[str]:
        return [each.code if isinstance(each, LocalError) else "" for each in self.answers]


def test_law_the_subscriptions_of_a_session_are_asked_for_together() -> None:
    it = Stage().ask(1, 2).ask(1, head=ANN).ask(3)
    assert not it.calls.ask_all.called
    asked = it.end_event()
    assert [(ask.certificate.session, [row.subscription for row in ask.rows]) for ask in asked] == [
        ("client/joe", [1, 2, 3]),
        ("client/ann", [1]),
    ]


def test_a_question_has_a_limited_number_of_subscriptions() -> None:
    asked = Stage().ask(*range(RESUMED + 1)).end_event()
    assert [len(ask.rows) for ask in asked] == [RESUMED, 1]


def test_each_subscription_gets_its_page_or_its_refusal() -> None:
    it = Stage().ask(1, 2, 3)
    it.end_event()
    one, two = ResumedPage(end=9, next=8, positions=[6, 7]), ResumedPage(code="UNKNOWN_PIN")
    three = ResumedPage(end=9, next=10, positions=[8])
    it.reply(Resumed(pages=[one, two, three]), A, B, A)
    assert (it.answers[0], it.answers[2]) == ((one, [A, B]), (three, [A]))
    assert it.codes == ["", "UNKNOWN_PIN", ""]


@pytest.mark.parametrize(
    ("pages", "envelopes"), [([], []), ([[6]], []), ([[6], []], [A, B]), ([[6], [7], [8]], [A, B, A])]
)
def test_a_reply_that_no_correct_master_sends_is_refused_for_all(
    pages: list[list[int]], envelopes: list[Any]
) -> None:
    value = Resumed(pages=[ResumedPage(end=9, next=9, positions=each) for each in pages])
    found = answers_of(2, value, envelopes)
    assert [each.code for each in found if isinstance(each, LocalError)] == ["MALFORMED"] * 2


def test_a_refusal_or_a_missing_reply_is_that_of_all() -> None:
    it = Stage().ask(1, 2)
    it.end_event()
    it.reply(Resumed(), code="MOVED")
    assert it.codes == ["MOVED"] * 2
    it.calls.ask_all.call_args.args[3]({}, ["heron"])
    assert it.answers[2:] == [None, None]


def test_a_node_of_an_earlier_release_is_not_asked() -> None:
    it = Stage().ask(1, 2)
    it.peer.speaks = set()
    assert it.end_event() == []
    assert it.codes == ["UNKNOWN_VERB"] * 2


def test_a_master_that_is_not_linked_is_dialed_instead() -> None:
    it = Stage()
    it.peer.data = None
    assert not it.logs.ask(HERON, JOE, row(1), it.answers.append)
    assert not it.logs.ask(b"unknown", JOE, row(1), it.answers.append)
    assert (it.end_event(), it.logs._neighbours.review_login.call_count) == ([], 1)  # type: ignore[attr-defined]


def test_a_master_that_must_not_be_linked_is_asked_through_its_next_hop_alike() -> None:
    it, ibis = Stage(), Mock()
    it.peer.data, it.nodes.is_named.return_value, it.nodes.next_hop.return_value = None, False, ibis
    asked = it.ask(1, 2).end_event()
    assert [(ask.target, len(ask.rows)) for ask in asked] == [(HERON, 2)]
    assert it.calls.ask_all.call_args.args[0] == [ibis]


def test_a_master_that_logs_out_before_the_end_of_the_event_gives_no_answer() -> None:
    it = Stage().ask(1, 2)
    it.peer.data = None
    assert (it.end_event(), it.answers) == ([], [None, None])


def test_the_log_of_this_node_is_asked_alike() -> None:
    it = Stage().ask(1, 2, master=ME)
    it.source.resume.side_effect = LocalError("The session is elsewhere.", code="MOVED")
    it.end_event()
    ask, node, _ = it.source.resume.call_args.args
    assert (ask, node, it.codes) == (replace(JOE, rows=[row(1), row(2)]), ME, ["MOVED"] * 2)


def test_first_questions_to_a_master_behind_a_relay_name_the_open_subscriptions() -> None:
    it, head = Stage(), replace(JOE, subscriptions=(1, 2))
    it.ask(1, head=head)
    assert it.end_event()[-1].subscriptions is None, "MOVED names them to a linked master"
    it.peer.data, it.nodes.is_named = None, lambda name: False
    it.nodes.next_hop = lambda name: Mock()
    for end, expected in ((0, (1, 2)), (9, None)):
        assert it.logs.ask(HERON, head, replace(row(1), end=end), it.answers.append)
        assert it.end_event()[-1].subscriptions == expected


@pytest.mark.parametrize(("live", "pins", "is_asked"), [(0, 0, False), (1, 0, True), (0, 1, True)])
def test_this_node_is_asked_for_its_log_or_for_the_end_of_its_pins(
    live: int, pins: int, is_asked: bool
) -> None:
    disk: Any = Mock()
    disk.shelf.live = live
    source: Any = Mock(_disk=disk, _pins=[None] * pins)
    source.has_log = ResumeSource.has_log.fget(source)  # type: ignore[attr-defined]
    stage = Stage()
    stage.source.must_be_asked = ResumeSource.must_be_asked.fget(source)  # type: ignore[attr-defined]
    assert (stage.logs.must_ask(ME), stage.logs.must_ask(HERON)) == (is_asked, True)
