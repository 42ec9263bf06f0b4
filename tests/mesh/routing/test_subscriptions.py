"""The feeds that receive the messages of an envelope."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import MeshError
from mesh.patterns import matches
from mesh.routing.feed import Feed
from mesh.routing.overflow import Credit
from mesh.routing.subscriptions import SubscriptionIndex, check_query
from mesh.wire.commands import Query
from tests.mesh.envelopes import envelope


def feed(name: str) -> Feed:
    return Feed(name.encode(), Credit(1, 1, 1), lambda f, p: None, lambda p: None)


def plan(
    subscriptions: SubscriptionIndex[Feed], keys: str, domain: str = ""
) -> dict[str, tuple[int, ...] | None]:
    return {f.key.decode(): indices for f, indices in subscriptions.plan(envelope(keys, domain=domain))}


def test_each_feed_gets_the_messages_it_wants() -> None:
    subscriptions = SubscriptionIndex[Feed]()
    subscriptions.add(feed("exact"), Query("exact", "a/x"))
    subscriptions.add(feed("pattern"), Query("pattern", "a/+"))
    subscriptions.add(feed("all"), Query("pattern", "#"))
    subscriptions.add(feed("none"), Query("exact", "nobody"))
    assert plan(subscriptions, "a/x a/y b a/x") == {"exact": (0, 3), "pattern": (0, 1, 3), "all": None}


def test_a_feed_with_several_queries_gets_a_message_once() -> None:
    subscriptions, one = SubscriptionIndex[Feed](), feed("one")
    subscriptions.add(one, Query("exact", "a"))
    subscriptions.add(one, Query("pattern", "#"))
    assert list(subscriptions.plan(envelope("a"))) == [(one, None)]
    subscriptions.discard(one, Query("pattern", "#"))
    assert plan(subscriptions, "a b") == {"one": (0,)}


def test_the_same_text_as_key_and_as_pattern_are_two_queries() -> None:
    subscriptions, peer = SubscriptionIndex[Feed](), feed("peer")
    subscriptions.add(peer, Query("exact", "a"))
    subscriptions.add(peer, Query("pattern", "a"))
    subscriptions.discard(peer, Query("exact", "a"))
    assert plan(subscriptions, "a") == {"peer": None}
    subscriptions.discard(peer, Query("pattern", "a"))
    assert plan(subscriptions, "a") == {}


def test_a_query_with_a_domain_matches_that_domain_only_and_one_without_matches_all() -> None:
    subscriptions = SubscriptionIndex[Feed]()
    subscriptions.add(feed("sport"), Query("pattern", "#", "sport"))
    subscriptions.add(feed("any"), Query("pattern", "#"))
    assert set(plan(subscriptions, "a", "sport")) == {"sport", "any"}
    assert set(plan(subscriptions, "a", "news")) == {"any"}
    assert set(plan(subscriptions, "a")) == {"any"}


def test_a_change_is_seen_at_once_although_answers_are_remembered() -> None:
    subscriptions, one = SubscriptionIndex[Feed](), feed("one")
    assert plan(subscriptions, "a") == {}
    subscriptions.add(one, Query("exact", "a"))
    assert plan(subscriptions, "a") == {"one": None}
    subscriptions.discard(one, Query("exact", "a"))
    assert plan(subscriptions, "a") == {}


@pytest.mark.parametrize(
    ("query", "code"),
    [
        (Query("exact", ""), "BAD_KEY"),
        (Query("exact", "a/+"), "BAD_KEY"),
        (Query("pattern", "#/a"), "BAD_QUERY"),
        (Query("pattern", "x" * 600), "BAD_QUERY"),
        (Query("xpath", "//"), "BAD_XPATH"),
        (Query("regex", "a"), "BAD_QUERY"),
    ],
)
def test_a_query_that_makes_no_sense_is_refused_by_name(query: Query, code: str) -> None:
    with pytest.raises(MeshError) as caught:
        check_query(query)
    assert caught.value.code == code


KEYS = st.sampled_from(["a", "b", "a/x", "a/y", "a/x/1"])
DOMAINS = st.sampled_from(["", "", "sport"])
QUERIES = st.builds(
    lambda text, domain: Query("pattern" if "+" in text or "#" in text else "exact", text, domain),
    st.sampled_from(["a", "b", "a/x", "a/+", "a/#", "#", "+"]),
    DOMAINS,
)


@given(
    st.lists(st.tuples(st.integers(0, 3), QUERIES), max_size=12),
    st.lists(KEYS, min_size=1, max_size=6),
    DOMAINS,
    st.integers(0, 12),
)
def test_the_plan_is_what_asking_every_query_of_every_message_would_give(
    wanted: list[tuple[int, Query]], keys: list[str], domain: str, gone: int
) -> None:
    subscriptions, feeds = SubscriptionIndex[Feed](), [feed(str(n)) for n in range(4)]
    for n, query in wanted:
        subscriptions.add(feeds[n], query)
    plan(subscriptions, " ".join(keys), domain)
    for n, query in wanted[:gone]:
        subscriptions.discard(feeds[n], query)
    left = set(wanted) - set(wanted[:gone])
    expected = {}
    for n in range(4):
        queries = [q for m, q in left if m == n and q.domain in ("", domain)]
        indices = tuple(i for i, key in enumerate(keys) if any(matches(q.text, key) for q in queries))
        if indices:
            expected[str(n)] = None if len(indices) == len(keys) else indices
    assert plan(subscriptions, " ".join(keys), domain) == expected
