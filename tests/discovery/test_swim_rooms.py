"""The small rooms of membership: news, turns and timers."""

from collections import Counter
from math import inf
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from discovery.member import MemberEvent, NodeLife
from discovery.news import PACKET, News
from discovery.requests import DiscoveryRequest
from discovery.roster import Roster
from discovery.timers import Timers, call_off
from tests.discovery.nodes import rumour

ALIVE, DEAD = NodeLife.ALIVE, NodeLife.DEAD


# --- news ----------------------------------------------------------------------------------------------


def test_no_news_is_nothing() -> None:
    assert News().take(3) == ()


def test_a_rumour_goes_out_four_times_for_each_digit_of_the_number_of_nodes() -> None:
    for alive, times in [(2, 4), (9, 4), (10, 8), (99, 8), (100, 12), (1000, 16)]:
        news = News()
        news.add(rumour(DEAD))
        assert [len(news.take(alive)) for _ in range(times + 1)] == [1] * times + [0]
        assert len(news) == 0


def test_the_latest_word_about_a_node_replaces_the_one_before() -> None:
    news = News()
    news.add(rumour(DEAD))
    news.take(3)
    news.add(rumour(ALIVE, incarnation=1))
    assert news.take(3) == (rumour(ALIVE, incarnation=1),)
    assert len(news) == 1
    news.drop(rumour(ALIVE).node.uuid)
    assert news.take(3) == ()


def test_a_packet_holds_what_was_sent_least_often_and_of_that_the_newest() -> None:
    news = News()
    words = [rumour(DEAD, f"n{i}") for i in range(PACKET + 2)]
    for word in words:
        news.add(word)
    assert news.take(1000) == tuple(reversed(words[2:]))
    assert news.take(1000)[:2] == (words[1], words[0])
    news.add(rumour(DEAD, "late"))
    assert news.take(1000, 1) == (rumour(DEAD, "late"),)


def test_who_dies_or_denies_it_comes_before_who_is_new() -> None:
    news = News()
    for word in [
        rumour(DEAD, "a"),
        rumour(ALIVE, "b", incarnation=1),
        *(rumour(ALIVE, f"n{i}") for i in range(99)),
    ]:
        news.add(word)
    for _ in range(5):
        first, second = news.take(1000, 2)
        assert {first.node.name, second.node.name} == {"a", "b"}


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=60), st.integers(2, 2000))
def test_every_rumour_goes_out_equally_often_in_the_end(added: list[tuple[int, bool]], alive: int) -> None:
    news = News()
    for i, is_bad in added:
        news.add(rumour(DEAD if is_bad else ALIVE, f"n{i}"))
    sent = Counter(r.node.name for _ in range(1000) for r in news.take(alive))
    assert len(set(sent.values())) <= 1
    assert len(sent) == len({i for i, _ in added})


# --- turns ---------------------------------------------------------------------------------------------


def test_nobody_has_a_turn_in_an_empty_roster() -> None:
    roster = Roster(Random(0).random)
    assert (roster.next(), roster.some(3, b""), len(roster)) == (None, [], 0)


@given(
    st.lists(st.tuples(st.sampled_from(["add", "remove", "next"]), st.integers(0, 7)), max_size=80),
    st.integers(),
)
def test_nobody_has_two_turns_in_a_round_and_nobody_who_stays_misses_two_rounds(
    story: list[tuple[str, int]], seed: int
) -> None:
    roster = Roster(Random(seed).random)
    waits: dict[bytes, int] = {}
    for what, i in story:
        uuid = bytes([i])
        if what == "add" and uuid not in waits:
            roster.add(uuid)
            waits[uuid] = 0
        elif what == "remove" and uuid in waits:
            roster.remove(uuid)
            del waits[uuid]
        elif what == "next":
            turn = roster.next()
            assert (turn is None) == (not waits)
            waits = {one: 0 if one == turn else wait + 1 for one, wait in waits.items()}
        assert len(roster) == len(waits)
        assert set(roster.some(99, b"")) == set(waits)
        assert all(wait <= 2 * 8 for wait in waits.values())


def test_a_round_gives_each_one_turn() -> None:
    roster = Roster(Random(0).random)
    for i in range(20):
        roster.add(bytes([i]))
    for _ in range(5):
        assert len({roster.next() for _ in range(20)}) == 20


def test_helpers_are_others_and_chosen_evenly() -> None:
    roster = Roster(Random(0).random)
    for i in range(10):
        roster.add(bytes([i]))
    chosen: Counter[bytes] = Counter()
    for i in range(6000):
        if i % 10 == 0:
            for _ in range(10):
                roster.next()
        helpers = roster.some(3, bytes([0]))
        assert len(set(helpers)) == 3
        chosen.update(helpers)
    assert bytes([0]) not in chosen
    assert max(chosen.values()) / min(chosen.values()) < 1.3
    assert len(roster.some(20, bytes([0]))) == 9


# --- timers --------------------------------------------------------------------------------------------


class Record:
    """What was done, when."""

    def __init__(self) -> None:
        self.timers = Timers()
        self.done: list[tuple[str, float]] = []

    def after(self, seconds: float, what: str, now: float = 0.0) -> None:
        def act(now: float) -> list[MemberEvent | DiscoveryRequest]:
            self.done.append((what, now))
            return []

        self.timer = self.timers.after(seconds, now, act)


def test_what_is_due_is_done_in_its_order_and_once() -> None:
    record = Record()
    record.after(2.0, "second")
    record.after(1.0, "first")
    record.after(2.0, "third")
    assert record.timers.deadline() == 1.0
    record.timers.tick(0.9)
    assert record.done == []
    record.timers.tick(2.0)
    record.timers.tick(3.0)
    assert record.done == [("first", 2.0), ("second", 2.0), ("third", 2.0)]
    assert record.timers.deadline() == inf


def test_what_was_called_off_is_not_done_nor_waited_for() -> None:
    record = Record()
    record.after(1.0, "never")
    call_off(record.timer)
    call_off(None)
    record.after(2.0, "later")
    assert record.timers.deadline() == 2.0
    record.timers.tick(5.0)
    assert record.done == [("later", 5.0)]


@given(st.floats(0, 1e9), st.floats(0, 1e6), st.floats(0, 1e5))
def test_at_its_deadline_everything_is_done_however_late_we_were(now: float, lag: float, wait: float) -> None:
    record = Record()
    record.timers.lagged(lag)
    record.after(wait, "done", now)
    record.timers.lagged(lag / 3)
    record.timers.tick(record.timers.deadline())
    assert len(record.done) == 1
