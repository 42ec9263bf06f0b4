"""Answers that wait for a slow subscriber, and for how long."""

from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.overflow import Credit
from mesh.routing.pacing import Pacing
from mesh.routing.stored_envelope import StoredEnvelope
from tests.mesh.envelopes import envelope


class Scenario:
    """One subscriber with credit for one item, and answers that are held for it."""

    def __init__(self) -> None:
        self.pacing = Pacing()
        self.said: list[str] = []
        self.feed = Feed(b"f", Credit(10_000, 1, 10_000), lambda f, p: None, lambda p: None)
        self.feed.connect(0.0)

    def publish(self, source: str, word: str, now: float = 0.0) -> EnvelopeSlice:
        slice_ = EnvelopeSlice(StoredEnvelope(envelope()))
        self.feed.offer(slice_, now)
        waiting = [(self.feed, slice_)] if slice_.waiting else []
        self.pacing.release_after(source, waiting, lambda: self.said.append(word))
        return slice_


def test_an_answer_goes_at_once_when_the_subscriber_has_credit() -> None:
    scenario = Scenario()
    scenario.publish("joe", "1")
    assert scenario.said == ["1"]
    assert not scenario.pacing


def test_an_answer_waits_while_its_message_waits_for_a_subscriber_that_makes_progress() -> None:
    scenario = Scenario()
    scenario.publish("joe", "1")
    scenario.publish("joe", "2")
    scenario.pacing.run_due(0.1)
    assert (scenario.said, bool(scenario.pacing)) == (["1"], True)
    scenario.feed.on_processed(1, 0.1)
    scenario.pacing.run_due(0.1)
    assert (scenario.said, bool(scenario.pacing)) == (["1", "2"], False)


def test_answers_of_one_publisher_keep_their_order() -> None:
    scenario = Scenario()
    scenario.publish("joe", "1")
    scenario.publish("joe", "2")
    scenario.pacing.release_after("joe", (), lambda: scenario.said.append("3"))
    assert scenario.said == ["1"]
    scenario.feed.on_processed(1, 0.0)
    scenario.pacing.run_due(0.0)
    assert scenario.said == ["1", "2", "3"]


def test_one_publisher_does_not_wait_for_the_messages_of_another() -> None:
    scenario = Scenario()
    scenario.publish("joe", "1")
    scenario.publish("joe", "2")
    scenario.pacing.release_after("ann", (), lambda: scenario.said.append("ann's"))
    assert scenario.said == ["1", "ann's"]


def test_a_subscriber_that_has_stopped_holds_nobody_up() -> None:
    scenario = Scenario()
    scenario.publish("joe", "1")
    scenario.publish("joe", "2")
    scenario.pacing.run_due(99.0)
    assert scenario.said == ["1", "2"]


def test_a_subscriber_that_went_away_holds_nobody_up() -> None:
    scenario = Scenario()
    scenario.publish("joe", "1")
    scenario.publish("joe", "2")
    scenario.feed.disconnect(0.0)
    scenario.pacing.run_due(0.0)
    assert scenario.said == ["1", "2"]


def test_a_message_that_was_dropped_or_given_up_holds_nobody_up() -> None:
    scenario = Scenario()
    scenario.publish("joe", "1")
    scenario.publish("joe", "2")
    scenario.feed.close()
    scenario.pacing.run_due(0.0)
    assert scenario.said == ["1", "2"]


def test_nobody_waits_for_the_answers_of_a_publisher_that_is_gone() -> None:
    scenario = Scenario()
    scenario.publish("joe", "1")
    scenario.publish("joe", "2")
    scenario.pacing.drop_source("joe")
    assert not scenario.pacing
    scenario.feed.on_processed(1, 0.0)
    scenario.pacing.run_due(0.0)
    assert scenario.said == ["1"]
