"""Sinks that are owed log entries after a restart."""

import pytest
from msgspec.structs import replace

from mesh.routing.backlog import Backlog
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.flight import Flight
from mesh.routing.overflow import Credit, Overflow
from mesh.routing.peerfeed import PeerFeed
from mesh.routing.restored_debts import KNOWN, RestoredDebts
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.routing.subscriptions import SubscriptionIndex
from mesh.wire.commands import Query
from mesh.wire.envelope import LOCAL_ONLY
from tests.mesh.envelopes import envelope
from tests.mesh.routing.feeds import CREDIT, HERON, ME, inbox, stored


def feed(kind: type[Feed] = Feed, key: bytes = b"f") -> Feed:
    return kind(key, CREDIT, lambda f, p: None, lambda p: None)


def at(position: int, keys: str = "a", master: bytes = ME) -> StoredEnvelope:
    return StoredEnvelope(envelope(keys), position, master, own=master == ME)


def owing(*takers: Feed) -> RestoredDebts:
    index = SubscriptionIndex[Feed]()
    for taker in takers:
        for query in taker.queries:
            index.add(taker, query)
    return RestoredDebts(lambda key, domain, xml, is_local: index.match(key, domain), lambda to: takers[0])


@pytest.mark.parametrize("kind", [Feed, PeerFeed])
def test_a_subscriber_is_owed_what_came_since_it_asked_and_has_not_settled(kind: type[Feed]) -> None:
    one = feed(kind)
    one.add_query(Query("exact", "a"), 5, {})
    one.add_query(Query("pattern", "#"), 9, {})
    one.position = 7
    assert (one.first_owed_position("a", ""), one.first_owed_position("b", "")) == (8, 9)
    one.position = 0
    assert (one.first_owed_position("a", ""), one.first_owed_position("b", "")) == (5, 9)
    all_of_it = [(one, None)]
    found = owing(one)
    assert {place: found.sinks_of(at(place)) for place in (4, 5, 6)} == {4: [], 5: all_of_it, 6: all_of_it}
    assert (found.sinks_of(at(8, "b")), found.sinks_of(at(9, "b"))) == ([], all_of_it)


def test_each_subscriber_is_owed_it_from_its_own_place_on() -> None:
    early, late = feed(key=b"1"), feed(key=b"2")
    early.add_query(Query("exact", "a"), 3, {})
    late.add_query(Query("exact", "a"), 5, {})
    found = owing(early, late)
    owed = {place: [late is taker for taker, _ in found.sinks_of(at(place))] for place in (5, 4, 3, 2)}
    assert owed == {5: [False, True], 4: [False], 3: [False], 2: []}


def test_of_an_envelope_it_is_owed_the_messages_that_it_asked_for() -> None:
    one, all_of_it = feed(key=b"2"), feed(key=b"1")
    one.add_query(Query("exact", "b"), 1, {})
    one.add_query(Query("exact", "c", "sport"), 1, {})
    all_of_it.add_query(Query("pattern", "#"), 2, {})
    found = owing(one, all_of_it)
    assert found.sinks_of(at(1, "a b a b c")) == [(one, (1, 3))]
    assert found.sinks_of(at(2, "a b a b c")) == [(all_of_it, None), (one, (1, 3))]
    assert found.sinks_of(at(1, "a c")) == [], "another domain"


def test_what_is_asked_for_here_only_is_known_apart() -> None:
    here, peer = feed(), feed(PeerFeed)
    for one in (here, peer):
        one.add_query(Query("exact", "a"), 1, {})
    found = RestoredDebts(
        lambda key, domain, xml, is_local: [here] if is_local else [here, peer], lambda to: here
    )
    local = replace(envelope("a"), flags=LOCAL_ONLY)
    both = [(here, None), (peer, None)]
    assert found.sinks_of(at(1)) == both
    assert found.sinks_of(StoredEnvelope(local, 1, ME, own=True)) == both[:1]
    assert found.sinks_of(at(1)) == both


def test_who_is_owed_something_is_asked_again_when_it_may_be_another_one() -> None:
    one = feed()
    one.add_query(Query("exact", "a"), 1, {})
    found = owing(one)
    assert found.sinks_of(at(7)) == [(one, None)]
    one.position = 7
    assert found.sinks_of(at(7)) == [(one, None)], "remembered, as nobody takes anything meanwhile"
    found.clear_cache()
    assert found.sinks_of(at(7)) == []


def test_of_many_keys_no_more_are_remembered_than_a_bound() -> None:
    one = feed()
    one.add_query(Query("pattern", "#"), 1, {})
    found = owing(one)
    for n in range(KNOWN + 10):
        assert found.sinks_of(at(1, f"k{n}")) == [(one, None)]
    assert len(found._known) == 10


def test_an_inbox_is_owed_all_letters_behind_its_place_and_paces_nobody() -> None:
    one = inbox(b"i", CREDIT, lambda f, p: None, lambda p: None)
    one.position = 7
    letters = [
        StoredEnvelope(replace(envelope("a"), to="/node/a/client/b"), place, ME, own=True) for place in (7, 8)
    ]
    assert [owing(one).sinks_of(letter) for letter in letters] == [[], [(one, None)]]
    assert (one.paces, feed().paces, feed(PeerFeed).paces) == (False, True, True)


def test_what_a_master_sends_again_is_due_to_a_peer_that_asked_before() -> None:
    peer = PeerFeed(b"p", CREDIT, lambda f, p: None, lambda p: None)
    peer.add_query(Query("exact", "a"), 1, {HERON: 10})
    peer.add_query(Query("exact", "b"), 1, {HERON: 20})
    due = [(place, key) for key in "ab" for place in (10, 11, 20, 21) if peer.is_due(at(place, key, HERON))]
    assert due == [(11, "a"), (20, "a"), (21, "a"), (21, "b")]
    assert peer.is_due(at(0, "a", HERON)), "transient: it comes once"


def test_a_flight_has_room_until_one_bound_is_reached() -> None:
    for credit, few in ((Credit(10**6, 2, 1), 2), (Credit(65, 9, 1), 2), (Credit(10**6, 9, 1, 3), 3)):
        flight, count = Flight(credit), 0
        while flight.has_room:
            flight.append(EnvelopeSlice(stored()))
            count += 1
        assert count == few, credit


def test_what_waits_knows_that_it_does() -> None:
    backlog, slices = Backlog(CREDIT, Overflow.BLOCK), [EnvelopeSlice(stored()) for _ in range(4)]
    for slice_ in slices:
        backlog.append(slice_)
    assert all(slice_.waiting for slice_ in slices)
    assert (backlog.pop(), backlog.remove_slice(slices[2])) == (slices[0], slices[2])
    assert [slice_.waiting for slice_ in slices] == [False, True, False, True]
    assert backlog.take_all() == [slices[1], slices[3]]
    assert not any(slice_.waiting for slice_ in slices)


def test_only_the_oldest_that_is_transient_gives_way_and_to_none_that_waits_whatever_happens() -> None:
    stays, goes = EnvelopeSlice(stored(1)), EnvelopeSlice(stored())
    for policy in Overflow:
        backlog = Backlog(CREDIT, policy)
        for slice_ in (stays, goes, EnvelopeSlice(stored())):
            backlog.append(slice_)
        found = backlog.giving_way_to(EnvelopeSlice(stored()))
        assert found is (goes if policy is Overflow.DROP_OLDEST else None)
        assert backlog.giving_way_to(EnvelopeSlice(stored(2))) is None
