"""Are a topic's messages counted whole, and are there never too many topics?"""

from msgspec.structs import replace

from mesh.core.busytopics import COUNTED, MOST, BusyTopics
from tests.mesh.envelopes import envelope


def test_a_topic_that_is_quiet_gives_way_to_busy_ones() -> None:
    topics = BusyTopics()
    for number in range(MOST):
        for _ in range(2 if number < COUNTED else 1):
            topics.count(envelope(f"k{number}"))
    topics.count(envelope("new"))
    assert len(topics.counts) == COUNTED + 1
    assert topics.counts["", "k0"][0] == 2 and ("", f"k{COUNTED}") not in topics.counts
    assert [topic for _, topic, _, _ in topics.busiest(3)] == ["k0", "k1", "k2"]


def test_messages_of_several_topics_in_one_envelope_are_counted_by_topic_with_their_bytes() -> None:
    topics = BusyTopics()
    topics.count(envelope("a b a", [b"123", b"4", b"56"], domain="NEWS"))
    assert topics.busiest(9) == [("NEWS", "a", 2, 5), ("NEWS", "b", 1, 1)]


def test_it_makes_no_difference_whether_all_are_alike() -> None:
    topics = BusyTopics()
    alike = envelope("a b a", [b"123", b"456", b"789"])
    topics.count(alike)
    topics.count(replace(alike, sizes=3))
    assert topics.busiest(9) == [("", "a", 4, 12), ("", "b", 2, 6)]
