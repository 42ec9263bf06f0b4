"""The rumors that travel in a packet: which ones, how often, and in which order."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from mesh.discovery.member import NodeLife
from mesh.discovery.rumor_queue import PACKET, RumorQueue
from tests.discovery.nodes import rumour

ALIVE, DEAD = NodeLife.ALIVE, NodeLife.DEAD


def test_no_news_is_nothing() -> None:
    assert RumorQueue().next_batch(3) == ()


def test_a_rumour_goes_out_four_times_for_each_digit_of_the_number_of_nodes() -> None:
    for alive, times in [(2, 4), (9, 4), (10, 8), (99, 8), (100, 12), (1000, 16)]:
        news = RumorQueue()
        news.add(rumour(DEAD))
        assert [len(news.next_batch(alive)) for _ in range(times + 1)] == [1] * times + [0]
        assert len(news) == 0


def test_the_latest_word_about_a_node_replaces_the_one_before() -> None:
    news = RumorQueue()
    news.add(rumour(DEAD))
    news.next_batch(3)
    news.add(rumour(ALIVE, incarnation=1))
    assert news.next_batch(3) == (rumour(ALIVE, incarnation=1),)
    assert len(news) == 1
    news.drop(rumour(ALIVE).node.uuid)
    assert news.next_batch(3) == ()


def test_a_packet_holds_what_was_sent_least_often_and_of_that_the_newest() -> None:
    news = RumorQueue()
    words = [rumour(DEAD, f"n{i}") for i in range(PACKET + 2)]
    for word in words:
        news.add(word)
    assert news.next_batch(1000) == tuple(reversed(words[2:]))
    assert news.next_batch(1000)[:2] == (words[1], words[0])
    news.add(rumour(DEAD, "late"))
    assert news.next_batch(1000, 1) == (rumour(DEAD, "late"),)


def test_who_dies_or_denies_it_comes_before_who_is_new() -> None:
    news = RumorQueue()
    for word in [
        rumour(DEAD, "a"),
        rumour(ALIVE, "b", incarnation=1),
        *(rumour(ALIVE, f"n{i}") for i in range(99)),
    ]:
        news.add(word)
    for _ in range(5):
        first, second = news.next_batch(1000, 2)
        assert {first.node.name, second.node.name} == {"a", "b"}


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=60), st.integers(2, 2000))
def test_every_rumour_goes_out_equally_often_in_the_end(added: list[tuple[int, bool]], alive: int) -> None:
    news = RumorQueue()
    for i, is_bad in added:
        news.add(rumour(DEAD if is_bad else ALIVE, f"n{i}"))
    sent = Counter(r.node.name for _ in range(1000) for r in news.next_batch(alive))
    assert len(set(sent.values())) <= 1
    assert len(sent) == len({i for i, _ in added})
