"""Retained values for new readers, and the values that are evicted at the limit."""

from collections.abc import Iterator, Set

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from pytest import MonkeyPatch

from mesh.reserved import CONFLICTS, DEAD
from mesh.routing import recent
from mesh.routing.retained import OF_CONFLICTS, Retained
from mesh.routing.retained_value import OVERHEAD, RetainedValue, last_values
from mesh.wire.commands import Query
from mesh.wire.envelope import INITIAL, Envelope
from tests.mesh.envelopes import envelope

ALL = Query("pattern", "#")


class Observer:
    """Observer that records the values that met values of other streams."""

    def __init__(self) -> None:
        self.met: list[tuple[bytes, bytes, bool]] = []

    def on_met(self, came: RetainedValue, stood: RetainedValue, stays: bool) -> None:
        self.met.append((came.data, stood.data, stays))

    def on_passed(self, envelope: Envelope) -> None: ...

    def on_outdone(self, came: RetainedValue, stands: RetainedValue) -> None: ...


def publish(retained: Retained, e: Envelope) -> list[str]:
    """Retain the envelope, and return the keys that were evicted for it."""
    gone: list[RetainedValue] = []
    retained.on_evicted = gone.extend
    retained.retain_last(e)
    len(retained)  # the read counts the recent values
    return [last.key for last in gone]


STREAMS = st.sampled_from([b"s" * 16, b"t" * 16])
SCENARIO = st.lists(
    st.tuples(
        st.lists(st.sampled_from(["a", "b", "c", "d", f"{DEAD}1", f"{DEAD}2"]), min_size=1, max_size=5),
        st.integers(1, 30),
        STREAMS,
        st.sampled_from(["", "sport"]),
        st.integers(0, 40),
    ),
    max_size=15,
)


def values(retained: Retained, query: Query = ALL, wall: int = 0) -> dict[tuple[str, str], bytes]:
    found = [last.as_envelope() for last in retained.find_values(query, wall)]
    return {(e.keys[0], e.domain): e.contents()[0] for e in found}


def test_the_last_message_of_each_key_is_kept() -> None:
    retained = Retained(10**6)
    publish(retained, envelope("a b a", [b"1", b"2", b"3"], sent=1))
    publish(retained, envelope("b", [b"4"], first=4, sent=2))
    assert values(retained) == {("a", ""): b"3", ("b", ""): b"4"}


def test_a_value_keeps_its_number_stream_sender_and_time_and_says_that_it_is_not_fresh() -> None:
    retained = Retained(10**6)
    e = envelope("a b a", [b"1", b"2", b"3"], first=7, low=7, sent=5, persistent=True)
    publish(retained, e)
    (last,) = retained.find_values(Query("exact", "a"), 0)
    value = last.as_envelope()
    assert (value.first, value.last, value.number(0), value.stream) == (9, 9, 9, e.stream)
    assert (value.sent, value.persistent, value.flags & INITIAL) == (5, True, INITIAL)


def test_the_same_key_has_a_value_in_each_domain() -> None:
    retained = Retained(10**6)
    publish(retained, envelope("a", [b"1"], domain="sport"))
    publish(retained, envelope("a", [b"2"], first=2))
    assert values(retained) == {("a", "sport"): b"1", ("a", ""): b"2"}
    assert values(retained, Query("exact", "a", "sport")) == {("a", "sport"): b"1"}


def test_a_query_finds_what_it_matches() -> None:
    retained = Retained(10**6)
    publish(retained, envelope("a/x a/y b", [b"1", b"2", b"3"]))
    assert values(retained, Query("pattern", "a/+")) == {("a/x", ""): b"1", ("a/y", ""): b"2"}
    assert values(retained, Query("exact", "b")) == {("b", ""): b"3"}
    assert values(retained, Query("exact", "nobody")) == {}


def test_an_expired_value_is_not_given() -> None:
    retained = Retained(10**6)
    publish(retained, envelope("a", [b"1"], expires=1000))
    assert values(retained, wall=999) == {("a", ""): b"1"}
    assert values(retained, wall=1000) == {}


def test_an_older_value_that_comes_late_does_not_replace_a_newer_one() -> None:
    retained = Retained(10**6)
    publish(retained, envelope("a", [b"new"], stream=b"n" * 16, sent=2))
    publish(retained, envelope("a", [b"old"], stream=b"o" * 16, sent=1))
    assert values(retained) == {("a", ""): b"new"}
    publish(retained, envelope("a", [b"newest"], stream=b"o" * 16, first=2, sent=3))
    assert values(retained) == {("a", ""): b"newest"}


def test_the_topic_that_was_published_longest_ago_is_forgotten_first() -> None:
    retained = Retained(3 * (OVERHEAD + 2))
    for n, key in enumerate("abcad"):
        evicted = publish(retained, envelope(key, [b"v"], first=n + 1, sent=n))
    assert evicted == ["b"]
    assert set(values(retained)) == {("c", ""), ("a", ""), ("d", "")}
    assert (len(retained), retained.evicted) == (3, 1)


def test_dead_letters_are_forgotten_last_and_the_oldest_of_them_first() -> None:
    retained = Retained(3 * (OVERHEAD + len(DEAD) + 2))
    evicted = []
    for n, key in enumerate(["a", f"{DEAD}1", f"{DEAD}2", "b", f"{DEAD}3", f"{DEAD}4"]):
        evicted += publish(retained, envelope(key, [b"v"], first=n + 1, sent=n))
    assert evicted == ["a", "b", f"{DEAD}1"]
    assert set(values(retained, Query("pattern", f"{DEAD}#"))) == {(f"{DEAD}{n}", "") for n in (2, 3, 4)}
    assert publish(retained, envelope("c", [b"v"], first=9, sent=9)) == [f"{DEAD}2"], "what comes stays"


def test_what_lost_against_other_sites_has_a_part_of_the_room_and_makes_no_topic_go() -> None:
    size = OVERHEAD + len(CONFLICTS) + 2
    retained = Retained(OF_CONFLICTS * 3 * size)
    assert publish(retained, envelope("a", [b"1"])) == []
    for n in range(3):
        assert publish(retained, envelope(f"{CONFLICTS}{n}", [b"1"], first=n + 2)) == []
    assert publish(retained, envelope(f"{CONFLICTS}3", [b"1"], first=9)) == [f"{CONFLICTS}0"]
    assert set(retained.keys()) == {"a", *(f"{CONFLICTS}{n}" for n in (1, 2, 3))} and len(retained) == 4
    retained.remove_value(f"{CONFLICTS}1", "")
    assert publish(retained, envelope(f"{CONFLICTS}4", [b"1"], first=10)) == []
    retained.clear()
    assert publish(retained, envelope(f"{CONFLICTS}5", [bytes(4 * size)], first=11)) == []
    assert publish(retained, envelope(f"{CONFLICTS}6", [b"1"], first=12)) == [f"{CONFLICTS}5"]


@pytest.mark.parametrize("here", ["LON", "TYO"])
def test_of_two_sites_that_are_as_new_that_of_the_later_name_stays_in_whatever_order(here: str) -> None:
    ours, theirs = ("/node/a/client/b/session/1", "/site/NYC/node/a/client/b/session/1")
    both = [
        replace(envelope("a", [who.encode()], stream=stream), sender=who, sent=7)
        for who, stream in ((ours, b"a" * 16), (theirs, b"b" * 16))
    ]
    for order in (both, both[::-1]):
        observer = Observer()
        retained = Retained(10**6, here=here)
        retained.watch(observer)
        for each in order:
            retained.retain_last(each)
        stays = b"/site" if here == "LON" else b"/node"
        assert values(retained)["a", ""].startswith(stays)
        assert observer.met == [(order[1].body, order[0].body, order[0].body.startswith(stays))]


def test_a_single_value_larger_than_the_bound_is_kept() -> None:
    retained = Retained(10)
    publish(retained, envelope("a", [b"large"]))
    assert values(retained) == {("a", ""): b"large"}


def test_one_topic_is_found_by_its_key_and_domain() -> None:
    retained = Retained(10**6)
    publish(retained, envelope("a b", [b"1", b"2"], domain="sport"))
    last = retained.get("a", "sport")
    assert last is not None
    assert (last.key, last.data, last.envelope.domain) == ("a", b"1", "sport")
    assert retained.get("a", "") is None
    assert retained.get("c", "sport") is None


def test_it_knows_in_which_domains_a_key_has_a_value() -> None:
    retained = Retained(10**6)
    publish(retained, envelope("a", [b"1"], domain="sport"))
    publish(retained, envelope("a", [b"2"]))
    assert sorted(retained.domains("a")) == ["", "sport"]
    assert retained.domains("b") == []


def test_a_topic_that_is_removed_is_gone_and_its_room_is_free() -> None:
    retained = Retained(2 * (OVERHEAD + 2))
    publish(retained, envelope("a b", [b"1", b"2"]))
    retained.remove_value("a", "")
    assert values(retained) == {("b", ""): b"2"}
    assert (retained.get("a", ""), retained.domains("a"), len(retained)) == (None, [], 1)
    assert publish(retained, envelope("c", [b"3"], first=3)) == []
    assert retained.evicted == 0, "what is taken away is not evicted"


def test_to_remove_what_is_not_there_does_no_harm() -> None:
    retained = Retained(10**6)
    publish(retained, envelope("a", [b"1"]))
    retained.remove_value("a", "sport")
    retained.remove_value("b", "")
    assert values(retained) == {("a", ""): b"1"}


def test_when_all_is_forgotten_all_room_is_free() -> None:
    retained = Retained(2 * (OVERHEAD + 2))
    publish(retained, envelope("a b", [b"1", b"2"]))
    retained.clear()
    assert (values(retained), len(retained), retained.domains("a")) == ({}, 0, [])
    assert publish(retained, envelope("c d", [b"3", b"4"], first=3)) == []


def test_after_a_topic_was_removed_an_older_value_may_stand_there_again() -> None:
    retained = Retained(10**6)
    publish(retained, envelope("a", [b"new"], sent=2))
    retained.remove_value("a", "")
    publish(retained, envelope("a", [b"old"], stream=b"o" * 16, sent=1))
    assert values(retained) == {("a", ""): b"old"}


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.none() | st.binary(max_size=40)), max_size=40))
def test_it_never_holds_more_than_its_bound(scenario: list[tuple[str, bytes | None]]) -> None:
    """Publish a value of a key, or remove the topic where the value is None."""
    retained = Retained(4 * OVERHEAD)
    model: dict[str, bytes] = {}
    for n, (key, data) in enumerate(scenario):
        model.pop(key, None)
        if data is None:
            retained.remove_value(key, "")
        else:
            for gone in publish(retained, envelope(key, [data], first=n + 1, sent=n)):
                del model[gone]
            model[key] = data
        assert {k: v for (k, _), v in values(retained).items()} == model
        assert sum(OVERHEAD + len(k) + len(v) for k, v in model.items()) <= 4 * OVERHEAD or len(model) == 1


@given(SCENARIO)
def test_many_at_once_come_to_the_same_as_one_by_one(
    scenario: list[tuple[list[str], int, bytes, str, int]],
) -> None:
    one, many = Retained(4 * OVERHEAD), Retained(4 * OVERHEAD)
    for e in told(scenario):
        for value in last_values(e):
            one.put_all([value])
        publish(many, e)
        assert values(many) == values(one)
        assert (len(many), many.evicted) == (len(one), one.evicted)


@given(SCENARIO, st.sets(st.integers(0, 15)))
def test_values_that_nobody_asked_for_meanwhile_come_to_the_same(
    scenario: list[tuple[list[str], int, bytes, str, int]], asked: set[int]
) -> None:
    at_once, late = Retained(10**6), Retained(10**6)
    for n, e in enumerate(told(scenario)):
        at_once.put_all(last_values(e))
        late.retain_last(e)
        if n in asked:
            assert values(late) == values(at_once)
    assert values(late) == values(at_once)


def told(scenario: list[tuple[list[str], int, bytes, str, int]]) -> Iterator[Envelope]:
    for sent, (keys, first, stream, domain, size) in enumerate(scenario, start=1):
        contents = [bytes([sent, n]) * size for n in range(len(keys))]
        yield envelope(" ".join(keys), contents, first=first, low=1, stream=stream, domain=domain, sent=sent)


def test_what_nobody_asks_for_counts_in_the_bound() -> None:
    retained, gone = Retained(3 * (OVERHEAD + 1001)), list[RetainedValue]()
    retained.on_evicted = gone.extend
    for n in range(10):
        retained.retain_last(envelope(str(n), [bytes(1000)], first=n + 1, sent=n))
    assert {last.key for last in gone} >= {"0", "1", "2"}


def test_of_a_topic_that_comes_again_and_again_few_values_are_cut_out(monkeypatch: MonkeyPatch) -> None:
    cut: list[int] = []

    def counting(e: Envelope, without: Set[str]) -> list[RetainedValue]:
        found = last_values(e, without)
        cut.append(len(found))
        return found

    monkeypatch.setattr(recent, "last_values", counting)
    retained = Retained(10**6)
    for n in range(640):
        retained.retain_last(envelope("a b", [b"1", b"2"], first=2 * n + 1, sent=n))
    assert values(retained) == {("a", ""): b"1", ("b", ""): b"2"}
    assert 0 < sum(cut) <= 2 * 11
