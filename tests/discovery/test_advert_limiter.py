"""Limits on the cost of a flood of adverts."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mesh.discovery import advert_limiter
from mesh.discovery.advert_limiter import (
    LONGEST_LINE,
    MOST_BOOTS,
    MOST_COMPLAINTS,
    MOST_SERVICES,
    AdvertLimiter,
    Boots,
)
from mesh.discovery.adverts import Advert, Rejected

BAD = Rejected("01" * 16, "its authentication code is wrong", "ADVERT_MAC")
HERON = Advert(b"\x01" * 16, "heron", 7, 7710, ("10.0.0.5",))


def test_a_few_adverts_pass_at_once_in_their_order() -> None:
    ours = AdvertLimiter()
    for instance in ("b", "a", "c"):
        ours.add_service(instance)
    assert ours.take(0.0) == ["b", "a", "c"]
    assert not ours.is_waiting


def test_a_hundred_pass_in_a_second_and_the_others_wait() -> None:
    ours = AdvertLimiter()
    for number in range(250):
        ours.add_service(str(number))
    assert len(ours.take(0.0)) == 100
    assert ours.take(0.0) == []
    assert ours.take(0.5) == [str(number) for number in range(100, 150)]
    assert ours.is_waiting
    assert len(ours.take(9.0)) == 100
    assert ours.ignored == 0


def test_what_calls_often_stands_in_the_line_once() -> None:
    ours = AdvertLimiter()
    for _ in range(5_000):
        ours.add_service("a")
    assert ours.take(0.0) == ["a"]
    assert ours.ignored == 0


def test_a_flood_of_names_is_counted_and_takes_no_more_room() -> None:
    ours = AdvertLimiter()
    for number in range(100_000):
        ours.add_service(str(number))
    assert ours.ignored == 100_000 - LONGEST_LINE
    assert len(ours.take(0.0)) == 100


@given(st.lists(st.tuples(st.integers(0, 300), st.floats(0, 2)), max_size=30))
def test_never_more_than_the_rate_passes(steps: list[tuple[int, float]]) -> None:
    ours, now, passed, name = AdvertLimiter(), 0.0, 0, 0
    for heard, wait in steps:
        for _ in range(heard):
            name += 1
            ours.add_service(str(name))
        now += wait
        passed += len(ours.take(now))
    assert passed <= 100 + 100 * now + 1e-6


def test_so_many_services_are_kept_and_a_goodbye_makes_room() -> None:
    ours = AdvertLimiter()
    assert all(ours.keep(str(number)) for number in range(MOST_SERVICES))
    assert not ours.keep("one more")
    assert ours.ignored == 1
    assert ours.keep("7")  # is kept already
    ours.remove_service("7")
    assert ours.keep("one more")
    assert len(ours) == MOST_SERVICES


def test_who_says_goodbye_is_not_looked_at() -> None:
    ours = AdvertLimiter()
    ours.add_service("a")
    ours.remove_service("a")
    assert ours.take(0.0) == []


def test_the_same_complaint_is_news_once_a_minute() -> None:
    ours = AdvertLimiter()
    assert ours.is_news(BAD, 0.0)
    assert not ours.is_news(BAD, 59.0)
    assert ours.is_news(replace(BAD, code="ADVERT_REPLAYED"), 59.0)
    assert ours.is_news(replace(BAD, instance="02" * 16), 59.0)
    assert ours.is_news(BAD, 60.0)
    assert not ours.is_news(BAD, 61.0)


def test_a_flood_of_complaints_is_counted_and_people_hear_again_after_a_minute() -> None:
    ours = AdvertLimiter()
    told = [ours.is_news(replace(BAD, instance=str(number)), 0.0) for number in range(1000)]
    assert sum(told) == MOST_COMPLAINTS
    assert ours.ignored == 1000 - MOST_COMPLAINTS
    assert ours.is_news(replace(BAD, instance="later"), advert_limiter.SAY_AGAIN)


def test_an_advert_of_an_earlier_boot_is_a_recording() -> None:
    boots = Boots()
    assert boots.judge(HERON) == HERON
    newer = replace(HERON, boot=8)
    assert boots.judge(newer) == newer
    told = boots.judge(HERON)
    assert isinstance(told, Rejected)
    assert told.code == "ADVERT_REPLAYED"
    assert "boot 7" in told.reason
    assert boots.judge(newer) == newer


def test_each_node_counts_its_own_boots() -> None:
    boots = Boots()
    egret = replace(HERON, uuid=b"\x02" * 16, boot=3)
    assert boots.judge(HERON) == HERON
    assert boots.judge(egret) == egret


def test_a_boot_that_another_member_made_up_for_it_makes_no_recording_of_a_node() -> None:
    boots = Boots()
    true, forged = replace(HERON, key=b"h" * 32), replace(HERON, boot=10**18, key=b"e" * 32)
    assert boots.judge(forged) == forged  # the key is checked elsewhere
    assert boots.judge(true) == true


def test_boots_are_remembered_of_those_heard_last() -> None:
    boots = Boots()
    boots.judge(HERON)
    for number in range(MOST_BOOTS - 1):
        boots.judge(replace(HERON, uuid=number.to_bytes(16, "big")))
    assert isinstance(boots.judge(replace(HERON, boot=6)), Rejected)  # moves to the end of the line
    for number in range(5_000, 5_000 + MOST_BOOTS):
        boots.judge(replace(HERON, uuid=number.to_bytes(16, "big")))
    assert boots.judge(replace(HERON, boot=6)) == replace(HERON, boot=6)
