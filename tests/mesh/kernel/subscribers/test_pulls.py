"""Questions for the logs of masters: which follow an answer, and what a subscription receives meanwhile."""

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

from mesh.errors import LocalError
from mesh.kernel.subscribers.facts import ResumeChanged
from mesh.kernel.subscribers.master_logs import Answer
from mesh.kernel.subscribers.pulls import AGAIN, AHEAD, Pulls
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.wire.calls import AskResume, ResumeRow
from mesh.wire.commands import Certificate, Query
from mesh.wire.envelope import Envelope
from mesh.wire.replies import ResumedPage
from tests.mesh.envelopes import envelope
from tests.mesh.routing.feeds import HERON, ME, Ends, stored

PROOF = Certificate("client/joe", b"k" * 32, 2, b"n" * 16, b"s" * 64)
HEAD = AskResume(certificate=PROOF)
FIRST = ResumeRow(1, Query("exact", "k"), 5)
STREAM, STORK = b"j" * 32, b"s" * 16


class Stage:
    """A subscription of joe that is resumed from heron's log."""

    def __init__(self) -> None:
        self.context: Any = Mock()
        self.context.out.outlets, self.context.relayed = {}, lambda envelope: envelope
        self.context.me.uuid, self.context.clock.now = ME, 100.0
        self.logs = Mock(ask=self.asked, name_of=lambda master: "heron", is_reachable=lambda master: True)
        self.questions: list[tuple[ResumeRow, Callable[[Answer], None]]] = []
        self.advanced: list[Any] = []
        self.is_linked = self.is_requested = True
        self.resumed: dict[bytes, Any] = {}
        self.ends = Ends()
        self.ends.feed.connect(0.0)
        self.session: Any = Mock(stream=STREAM, text="client/joe", outlet=b"o")
        self.found: list[bytes] = []  # further masters
        self.pulls = Pulls(
            self.context,
            self.logs,
            self.resumed,
            lambda query, master: self.is_requested,
            self.advanced.append,
            lambda *found: self.found.extend(found[2]),
        )
        self.pull = self.pulls.add_pull(self.session, self.ends.feed, HERON, HEAD, FIRST)
        self.pulls.start_pull(self.pull)

    def asked(self, master: bytes, head: AskResume, ask: ResumeRow, then: Callable[[Answer], None]) -> bool:
        if self.is_linked:
            self.questions.append((ask, then))
        return self.is_linked

    def answer(self, found: Answer) -> None:
        self.questions[-1][1](found)

    def page(self, next_: int, *positions: int, end: int = 9) -> None:
        found: list[Envelope] = [envelope("k", persistent=True) for _ in positions]
        self.answer((ResumedPage(end=end, next=next_, positions=list(positions)), found))

    def acknowledge(self, position: int) -> None:
        self.resumed[self.pull.id](stored(position, master=HERON))

    @property
    def last(self) -> tuple[int, int, int]:
        ask = self.questions[-1][0]
        return ask.at, ask.end, ask.done

    @property
    def is_over(self) -> bool:
        return not len(self.pulls) and not self.resumed and not self.pulls.has_master(HERON)


def test_law_pages_follow_each_other_and_the_pin_is_released_when_all_is_acknowledged() -> None:
    it = Stage()
    it.ends.offer(stored(8, master=HERON), stored(12, master=HERON))
    assert (it.ends.positions, set(it.pulls.unconfirmed(STREAM))) == ([], {HERON})
    it.page(7, 6)
    assert (it.last, it.ends.positions, set(it.pulls.unconfirmed(STREAM))) == ((7, 9, 5), [6], set())
    assert not it.pulls.has_all_pages(it.ends.feed)
    it.page(10, 8)
    assert it.ends.positions == [6, 8, 12], "newer ones follow, and what the log has does not come twice"
    assert (it.pulls.has_all_pages(it.ends.feed), len(it.questions)) == (True, 2)
    it.acknowledge(6)
    assert len(it.questions) == 2
    it.acknowledge(8)
    assert (it.last, it.is_over) == ((10, 9, 9), False)
    it.page(10)
    assert (it.is_over, it.advanced) == (True, [it.ends.feed] * 3)
    assert it.context.facts.publish_fact.call_args.args == (ResumeChanged(it.session),)


def test_transient_messages_keep_their_place_in_the_resumed_log() -> None:
    it = Stage()
    for after in (6, 8, 9):
        waiting = stored(0, master=HERON)
        waiting.after = after
        it.ends.offer(waiting)
    it.page(8, 6, 7)
    it.page(10, 9)
    it.ends.feed.on_processed(3, 0.0)
    assert it.ends.positions == [6, 0, 7, 0, 9, 0]


def test_a_log_without_a_match_ends_with_its_first_page() -> None:
    it = Stage()
    it.page(10)
    assert (it.is_over, len(it.questions), it.ends.feed.aside) == (True, 1, {})


def test_a_master_that_does_not_answer_or_has_no_room_is_asked_again_later() -> None:
    it = Stage()
    for found in (None, LocalError("The master refused to resume its log.", code="TOO_MANY")):
        before = len(it.questions)
        it.answer(found)
        it.pulls.tick()
        assert len(it.questions) == before
        it.context.clock.now += AGAIN
        it.pulls.tick()
        assert (len(it.questions), it.last) == (before + 1, (5, 0, 0))


def test_an_answer_from_before_a_login_does_not_count() -> None:
    it = Stage()
    it.page(7, 6)
    it.pulls.on_login(HERON)
    late = it.questions[1][1]
    late((ResumedPage(end=9, next=10, positions=[8]), [envelope("k", persistent=True)]))
    assert it.ends.positions == [6]


def test_a_master_that_is_not_linked_is_asked_at_its_login() -> None:
    it = Stage()
    it.answer(None)
    it.is_linked = False
    it.context.clock.now += AGAIN
    it.pulls.tick()
    assert len(it.questions) == 1
    it.is_linked = True
    it.pulls.on_login(HERON)
    assert (len(it.questions), it.last) == (2, (5, 0, 0))


def test_the_next_page_waits_for_a_client_that_is_behind() -> None:
    it = Stage()
    it.ends.feed._backlog.bytes = AHEAD + 1
    it.page(7)
    assert len(it.questions) == 1
    it.ends.feed._backlog.bytes = 0
    it.context.clock.now += AGAIN
    it.pulls.tick()
    assert it.last == (7, 9, 6)


def test_a_lost_pin_is_pinned_anew_from_what_the_client_has() -> None:
    it = Stage()
    it.page(7, 6)
    it.answer(LocalError("The pinned part is no longer known.", code="UNKNOWN_PIN"))
    assert (it.last, set(it.pulls.unconfirmed(STREAM))) == ((6, 0, 0), {HERON})


def test_a_first_question_is_repeated_with_its_number_and_a_new_pin_has_a_new_one() -> None:
    it = Stage()
    it.pulls.on_login(HERON)
    it.answer(LocalError("The pin has ended.", code="UNKNOWN_PIN"))
    assert ([ask.number for ask, _ in it.questions], it.last) == ([1, 1, 2], (5, 0, 0))
    it.page(10, 6)
    assert set(it.pulls.unconfirmed(STREAM)) == set()


def test_a_session_that_has_left_ends_its_pull() -> None:
    it = Stage()
    it.answer(LocalError("The session is at another node.", code="MOVED"))
    assert (it.is_over, it.ends.feed.gap) == (True, 0)


def test_a_malformed_page_ends_the_pull_with_a_gap_and_an_event() -> None:
    it = Stage()
    it.ends.feed.disconnect(0.0)
    it.page(4, 3)
    assert (it.is_over, it.ends.feed.gap) == (True, 1)
    assert "heron cannot resume a subscription of client/joe" in it.context.event.call_args.args[1]


def test_a_forgotten_master_ends_its_pull_and_newer_messages_follow() -> None:
    it = Stage()
    it.ends.feed.offer(EnvelopeSlice(stored(12, master=HERON)), 0.0)
    it.pulls.on_forgotten(HERON)
    assert (it.is_over, it.ends.positions, set(it.pulls.unconfirmed(STREAM))) == (True, [12], set())


def test_a_subscription_that_ends_names_the_masters_that_may_have_pinned_their_logs() -> None:
    it = Stage()
    assert (it.pulls.drop_feed(it.ends.feed), it.is_over) == ([HERON], True)
    it.page(7, 6)
    assert (it.pulls.drop_feed(it.ends.feed), len(it.questions)) == ([], 1)


def test_further_masters_that_a_page_names_are_reported() -> None:
    stage = Stage()
    stage.answer((ResumedPage(end=9, next=10, masters=[b"f" * 16]), []))
    assert stage.found == [b"f" * 16]


def test_a_master_is_asked_first_when_newer_messages_will_come_here() -> None:
    it = Stage()
    it.questions.clear()
    it.is_requested = False
    other = it.pulls.add_pull(it.session, it.ends.feed, STORK, HEAD, FIRST)
    it.pulls.start_pull(other)
    assert it.questions == []
    it.context.clock.now += AGAIN
    it.pulls.tick()
    assert it.questions == []
    it.is_requested = True
    it.context.clock.now += AGAIN
    it.pulls.tick()
    assert len(it.questions) == 1
