"""Answers that wait for a slow subscriber, and for how long."""

from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.overflow import Credit
from mesh.routing.pacing import Pacing
from mesh.routing.stored_envelope import StoredEnvelope
from tests.mesh.envelopes import envelope


class Story:
    """One subscriber with credit for one item, and answers that are held for it."""

    def __init__(self) -> None:
        self.pacing = Pacing()
        self.said: list[str] = []
        self.feed = Feed(b"f", Credit(10_000, 1, 10_000), lambda f, p: None, lambda p: None)
        self.feed.connect(0.0)

    def publish(self, source: str, word: str, now: float = 0.0) -> EnvelopeSlice:
        portion = EnvelopeSlice(StoredEnvelope(envelope()))
        self.feed.offer(portion, now)
        waiting = [(self.feed, portion)] if portion.waiting else []
        self.pacing.release_after(source, waiting, lambda: self.said.append(word))
        return portion


def test_an_answer_goes_at_once_when_the_subscriber_has_credit() -> None:
    story = Story()
    story.publish("joe", "1")
    assert story.said == ["1"]
    assert not story.pacing


def test_an_answer_waits_while_its_message_waits_for_a_subscriber_that_makes_progress() -> None:
    story = Story()
    story.publish("joe", "1")
    story.publish("joe", "2")
    story.pacing.release(0.1)
    assert (story.said, bool(story.pacing)) == (["1"], True)
    story.feed.on_processed(1, 0.1)
    story.pacing.release(0.1)
    assert (story.said, bool(story.pacing)) == (["1", "2"], False)


def test_answers_of_one_publisher_keep_their_order() -> None:
    story = Story()
    story.publish("joe", "1")
    story.publish("joe", "2")
    story.pacing.release_after("joe", (), lambda: story.said.append("3"))
    assert story.said == ["1"]
    story.feed.on_processed(1, 0.0)
    story.pacing.release(0.0)
    assert story.said == ["1", "2", "3"]


def test_one_publisher_does_not_wait_for_the_messages_of_another() -> None:
    story = Story()
    story.publish("joe", "1")
    story.publish("joe", "2")
    story.pacing.release_after("ann", (), lambda: story.said.append("ann's"))
    assert story.said == ["1", "ann's"]


def test_a_subscriber_that_has_stopped_holds_nobody_up() -> None:
    story = Story()
    story.publish("joe", "1")
    story.publish("joe", "2")
    story.pacing.release(99.0)
    assert story.said == ["1", "2"]


def test_a_subscriber_that_went_away_holds_nobody_up() -> None:
    story = Story()
    story.publish("joe", "1")
    story.publish("joe", "2")
    story.feed.leave(0.0)
    story.pacing.release(0.0)
    assert story.said == ["1", "2"]


def test_a_message_that_was_dropped_or_given_up_holds_nobody_up() -> None:
    story = Story()
    story.publish("joe", "1")
    story.publish("joe", "2")
    story.feed.close()
    story.pacing.release(0.0)
    assert story.said == ["1", "2"]


def test_nobody_waits_for_the_answers_of_a_publisher_that_is_gone() -> None:
    story = Story()
    story.publish("joe", "1")
    story.publish("joe", "2")
    story.pacing.drop_source("joe")
    assert not story.pacing
    story.feed.on_processed(1, 0.0)
    story.pacing.release(0.0)
    assert story.said == ["1"]
