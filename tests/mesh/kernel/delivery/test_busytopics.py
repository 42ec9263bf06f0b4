"""The messages of each topic are counted whole, and the number of topics is bounded."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mesh.kernel.delivery import busytopics
from mesh.kernel.delivery.busytopics import BusyTopics
from tests.mesh.envelopes import envelope

COUNTED, MOST = 32, 64


@pytest.fixture(autouse=True, scope="module")
def few() -> Iterator[None]:
    """Lower the number of topics that are counted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(busytopics, "COUNTED", COUNTED)
        patch.setattr(busytopics, "MOST", MOST)
        yield


def test_a_topic_that_is_quiet_gives_way_to_busy_ones() -> None:
    topics = BusyTopics()
    for number in range(MOST):
        for _ in range(2 if number < COUNTED else 1):
            topics.count_messages(envelope(f"k{number}"))
    topics.count_messages(envelope("new"))
    assert len(topics.counts) == COUNTED + 1
    assert topics.counts["", "k0"][0] == 2 and ("", f"k{COUNTED}") not in topics.counts
    assert [topic for _, topic, _, _ in topics.busiest(3)] == ["k0", "k1", "k2"]


def test_messages_of_several_topics_in_one_envelope_are_counted_by_topic_with_their_bytes() -> None:
    topics = BusyTopics()
    topics.count_messages(envelope("a b a", [b"123", b"4", b"56"], domain="NEWS"))
    assert topics.busiest(9) == [("NEWS", "a", 2, 5), ("NEWS", "b", 1, 1)]


def test_it_makes_no_difference_whether_all_are_alike() -> None:
    topics = BusyTopics()
    alike = envelope("a b a", [b"123", b"456", b"789"])
    topics.count_messages(alike)
    topics.count_messages(replace(alike, sizes=3))
    assert topics.busiest(9) == [("", "a", 4, 12), ("", "b", 2, 6)]


LENGTHS = st.sampled_from([[1, 1, 1], [2, 2, 2], [1, 2, 3], [0, 0, 0]])


@given(st.lists(st.tuples(st.sampled_from(["", "NEWS"]), st.sampled_from(["a b a", "a", "c a b"]), LENGTHS)))
def test_every_message_counts_once_whatever_came_before_it(
    scenario: list[tuple[str, str, list[int]]],
) -> None:
    topics, counts = BusyTopics(), dict[tuple[str, str], list[int]]()
    for domain, keys, lengths in scenario:
        contents = [bytes(length) for length, _ in zip(lengths, keys.split(), strict=False)]
        told = envelope(keys, contents, domain=domain)
        topics.count_messages(replace(told, sizes=lengths[0]) if len(set(lengths)) == 1 else told)
        for key, content in zip(keys.split(), contents, strict=True):
            count = counts.setdefault((domain, key), [0, 0])
            count[0] += 1
            count[1] += len(content)
    assert {(d, t): [m, s] for d, t, m, s in topics.busiest(9)} == counts


def test_of_thousands_of_topics_in_one_envelope_the_busiest_stay() -> None:
    topics = BusyTopics()
    for n in range(4):
        keys = " ".join(f"k{i}" for i in [*range(n * MOST, (n + 1) * MOST), 0])
        topics.count_messages(replace(envelope(keys, [b"1"] * (MOST + 1)), sizes=1))
    assert topics.busiest(1) == [("", "k0", 5, 5)]
    assert len(topics.counts) <= COUNTED + 2 * MOST + 1


def test_what_was_counted_of_late_counts_when_room_is_made() -> None:
    topics = BusyTopics()
    for _ in range(1_000):
        topics.count_messages(replace(envelope("hot warm", [b"1", b"1"]), sizes=1))
    for number in range(MOST + 1):
        topics.count_messages(envelope(f"k{number} " * 11, [b"1"] * 11))
    assert topics.busiest(2) == [("", "hot", 1_000, 1_000), ("", "warm", 1_000, 1_000)]
