"""Deliveries of the feeds of clients, and the feeds that do not keep up."""

from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from mesh.kernel.subscribers import client_feeds
from mesh.kernel.subscribers.client_feeds import ClientFeeds, named
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.overflow import Credit, Overflow
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.commands import Query
from mesh.wire.limits import GAPS
from tests.mesh.envelopes import STREAM, envelope


class Stage:
    """The feeds of the client joe, which counts as slow after 10 s."""

    def __init__(self) -> None:
        self.context: Any = Mock(clock=Mock(now=100.0))
        self.context.settings.slow_consumer, self.context.settings.credit = 10.0, Credit(100, 1000, 10)
        self.context.face.has_work.return_value = False
        self.context.out.outlets = {}
        self.session: Any = Mock(stream=STREAM, text="joe")
        self.session.conn.speaks = (GAPS,)
        self.feeds = ClientFeeds(self.context, Mock(), Mock())
        self.ended: list[Feed] = []

    def _end(self, session: Any, feed: Feed) -> None:
        self.ended.append(feed)

    def feed(self, policy: Overflow = Overflow.DROP_OLDEST, text: str = "k") -> Feed:
        return self.feeds.new_feed(self.session, 7, policy, 10, [Query("exact", text)], self._end)


def test_a_feed_is_named_by_its_session_and_has_its_own_credit() -> None:
    feed = Stage().feed()
    assert feed.key.startswith(b"c" + STREAM) and feed.key.endswith(b"\7")
    session: Any = Mock(text="joe")
    feed.queries[Query("exact", "weather")] = 0
    assert named(session, feed) == "subscription 7 (weather) of joe"


@pytest.mark.parametrize(("text", "is_shown"), [("k", False), ("__sys__up", True)])
def test_system_messages_are_shown_as_the_client_may_see_them(
    text: str, is_shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage()
    monkeypatch.setattr(client_feeds, "as_seen_by", lambda session, e: replace(e, body=b"hidden"))
    feed = stage.feed(text=text)
    feed._send(feed, EnvelopeSlice(StoredEnvelope(envelope("k")), None))
    session_outlet, sent, slice_ = stage.context.out.push_slice.call_args.args
    assert (session_outlet, sent) == (stage.session.outlet, feed)
    assert (slice_.stored.envelope.body == b"hidden") is is_shown


def test_an_overrun_ends_a_subscription_only_by_its_policy() -> None:
    stage = Stage()
    for policy in (Overflow.ERROR, Overflow.DROP_OLDEST):
        feed = stage.feed(policy)
        feed._overran(feed)
        assert (feed in stage.ended, feed in stage.feeds.overran) == (
            policy is Overflow.ERROR, policy is not Overflow.ERROR,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("since", "has_work", "is_stopped", "is_watched"),
    [
        (None, False, False, False),
        (95.0, False, False, True),
        (90.0, False, True, False),
        (90.0, True, False, True),
    ],
)
def test_who_reads_nothing_for_too_long_is_stopped_unless_it_has_work(
    since: float | None, has_work: bool, is_stopped: bool, is_watched: bool
) -> None:
    stage, feed = Stage(), Mock(stands_since=since)
    stage.context.face.has_work.return_value = has_work
    stage.feeds.overran[feed] = stage.session
    assert stage.feeds.take_stopped() == [(stage.session, feed, 10.0)] * is_stopped
    assert (feed in stage.feeds.overran) is is_watched


@pytest.mark.parametrize(("speaks", "is_told"), [((GAPS,), True), ((), False)])
def test_a_gap_at_the_end_is_told_to_clients_that_understand_it(
    speaks: tuple[str, ...], is_told: bool
) -> None:
    stage = Stage()
    stage.session.conn.speaks = speaks
    feed = stage.feed()
    feed._ends_in_gap(feed)
    assert stage.session.outlet.tell_gap.called is is_told
    assert (stage.session.outlet in stage.context.out.outlets) is is_told
