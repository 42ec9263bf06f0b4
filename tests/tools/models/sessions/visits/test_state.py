"""Deletion from a log, and the positions that a node still has to receive."""

from tools.models.sessions.visits.state import (
    Feed,
    Limits,
    Resume,
    first_state,
    left_to_send,
    without_settled,
)

LOG = first_state(Limits()).logs[0]._replace(length=3)


def test_a_log_keeps_what_a_node_with_a_feed_has_not_settled() -> None:
    assert without_settled(LOG._replace(settled=(1, 0, 0))).deleted == 0b0010
    assert without_settled(LOG._replace(receivers=0b011, settled=(3, 1, 0))).deleted == 0b0010


def test_a_log_keeps_what_a_resume_feed_owes() -> None:
    assert without_settled(LOG._replace(settled=(3, 0, 0), resume=Resume(2, 1, 2, 3))).deleted == 0b0010


def test_a_log_without_a_feed_deletes_everything() -> None:
    assert without_settled(LOG._replace(receivers=0)).deleted == 0b1110


def test_a_node_receives_what_it_has_neither_received_nor_settled() -> None:
    assert left_to_send(LOG, 0, Feed(received=1)) == 0b1100
    assert left_to_send(LOG._replace(settled=(2, 0, 0)), 0, Feed(received=1)) == 0b1000
    assert left_to_send(LOG, 0, Feed(received=3)) == 0
