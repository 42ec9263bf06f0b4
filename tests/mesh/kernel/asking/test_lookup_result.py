"""Retained values that several nodes have: the newest counts, and unrequested ones are dropped."""

import pytest
from msgspec.structs import replace

from mesh.kernel.asking.lookup_result import LastValue, LookupResult
from mesh.kernel.context.pages import NAMES
from mesh.kernel.routes.peer_calls import PeerReply
from mesh.wire.commands import Query
from mesh.wire.envelope import Envelope
from mesh.wire.replies import Values
from tests.mesh.envelopes import envelope

HERON, AVALON = b"h" * 16, b"a" * 16


def value(key: str, content: bytes, sent: int, domain: str = "") -> Envelope:
    return envelope(key, [content], sent=sent, domain=domain)


def told(*found: Envelope, master: bytes = HERON) -> PeerReply[Values]:
    return PeerReply(Values(), [(each, ("heron", None, master)) for each in found])


@pytest.mark.parametrize("is_reversed", [False, True])
def test_of_each_topic_the_newest_value_counts_in_whatever_order_they_come(is_reversed: bool) -> None:
    values = [value("k", b"old", 1), value("k", b"new", 2), value("k", b"other", 1, "D"), value("j", b"", 1)]
    found = LookupResult()
    for each in reversed(values) if is_reversed else values:
        found.add(LastValue(HERON, each, "heron"))
    contents = {topic: last.envelope.message(0)[1] for topic, last in found.best.items()}
    assert contents == {("k", ""): b"new", ("k", "D"): b"other", ("j", ""): b""}


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        (Query("exact", "k"), ["k"]),
        (Query("exact", "k", "D"), []),
        (Query("pattern", "a/#"), ["a/b"]),
        (Query("pattern", "#"), ["a/b", "k"]),
    ],
)
def test_a_value_that_was_not_asked_for_is_counted_and_dropped(query: Query, keys: list[str]) -> None:
    many = replace(envelope("k k"), sent=9)  # two messages are no retained value
    found = LookupResult()
    unasked = found.add_replies({HERON: told(value("k", b"", 1), value("a/b", b"", 1), many)}, query)
    assert sorted(last.envelope.keys[0] for last in found.values) == keys
    assert unasked == 3 - len(keys)


def test_names_of_unreachable_masters_are_bounded() -> None:
    found = LookupResult()
    found.add_replies({HERON: PeerReply(Values(away=["x" * 10_000] * (NAMES + 1)))}, Query("exact", "k"))
    assert len(found.away) == NAMES and max(map(len, found.away)) < 10_000
