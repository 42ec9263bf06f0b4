"""Counts of sent messages fade as the figures of the receivers include them."""

from math import e

import pytest

from mesh.balancers.sent import SentCounts


def test_what_was_sent_just_now_counts_wholly() -> None:
    sent = SentCounts()
    sent.add("a", now=10.0)
    sent.add("a", now=10.0, n=4)
    assert (sent.sent_to("a", now=10.0), sent.sent_to("b", now=10.0)) == (5.0, 0.0)


def test_after_an_interval_a_third_is_left_and_later_nothing() -> None:
    sent = SentCounts(fade=2.0)
    sent.add("a", now=0.0, n=100)
    assert sent.sent_to("a", now=2.0) == pytest.approx(100 / e)
    assert sent.sent_to("a", now=60.0) < 1e-9


def test_a_steady_stream_settles_at_what_is_sent_in_one_interval() -> None:
    sent = SentCounts(fade=2.0)
    for tenth in range(300):
        sent.add("a", now=tenth / 10, n=5)
    assert sent.sent_to("a", now=30.0) == pytest.approx(100, rel=0.05)


def test_only_those_who_had_something_of_late_are_remembered() -> None:
    sent = SentCounts(fade=2.0)
    sent.add("old", now=0.0, n=10)
    sent.add("new", now=30.0, n=10)
    sent.drop_idle(now=30.0)
    assert (list(sent._sent), sent.sent_to("new", now=30.0)) == (["new"], 10.0)
