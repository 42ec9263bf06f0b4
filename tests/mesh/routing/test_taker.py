"""Who is owed what, after a restart, of what stands in the log?"""

import pytest

from mesh.routing.backlog import Backlog
from mesh.routing.feed import Feed
from mesh.routing.flight import Flight
from mesh.routing.overflow import Credit, Overflow
from mesh.routing.parcel import Parcel
from mesh.routing.peerfeed import PeerFeed
from mesh.routing.portion import Portion
from mesh.wire.commands import Query
from tests.mesh.envelopes import envelope
from tests.mesh.routing.feeds import CREDIT, HERON, ME, inbox, parcel

NOTHING: tuple[int, ...] = ()


def feed(kind: type[Feed] = Feed) -> Feed:
    return kind(b"f", CREDIT, lambda f, p: None, lambda p: None)


def at(position: int, keys: str = "a", master: bytes = ME) -> Parcel:
    return Parcel(envelope(keys), position, master, own=master == ME)


@pytest.mark.parametrize("kind", [Feed, PeerFeed])
def test_a_subscriber_is_owed_what_came_since_it_asked_and_has_not_settled(kind: type[Feed]) -> None:
    one = feed(kind)
    one.asked(Query("exact", "a"), 5, {})
    one.position = 7
    owed = {place: one.owing(at(place)) for place in (4, 5, 7, 8)}
    assert owed == {4: NOTHING, 5: NOTHING, 7: NOTHING, 8: None}
    one.position = 0
    assert (one.owing(at(4)), one.owing(at(5))) == (NOTHING, None)


def test_of_an_envelope_it_is_owed_the_messages_that_it_asked_for() -> None:
    one = feed()
    one.asked(Query("exact", "b"), 1, {})
    one.asked(Query("exact", "c", "sport"), 1, {})
    assert one.owing(at(1, "a b a b c")) == (1, 3)
    assert one.owing(at(1, "a c")) == NOTHING, "another domain"


def test_an_inbox_is_owed_all_letters_behind_its_place_and_paces_nobody() -> None:
    one = inbox(b"i", CREDIT, lambda f, p: None, lambda p: None)
    one.position = 7
    assert (one.owing(at(7)), one.owing(at(8))) == (NOTHING, None)
    assert (one.paces, feed().paces, feed(PeerFeed).paces) == (False, True, True)


def test_what_a_master_sends_again_is_due_to_a_peer_that_asked_before() -> None:
    peer = PeerFeed(b"p", CREDIT, lambda f, p: None, lambda p: None)
    peer.asked(Query("exact", "a"), 1, {HERON: 10})
    peer.asked(Query("exact", "b"), 1, {HERON: 20})
    due = [(place, key) for key in "ab" for place in (10, 11, 20, 21) if peer.is_due(at(place, key, HERON))]
    assert due == [(11, "a"), (20, "a"), (21, "a"), (21, "b")]
    assert peer.is_due(at(0, "a", HERON)), "transient: it comes once"


def test_a_flight_has_room_until_one_bound_is_reached() -> None:
    for credit, few in ((Credit(10**6, 2, 1), 2), (Credit(65, 9, 1), 2), (Credit(10**6, 9, 1, 3), 3)):
        flight, count = Flight(credit), 0
        while flight.has_room:
            flight.append(Portion(parcel()))
            count += 1
        assert count == few, credit


def test_what_waits_knows_that_it_does() -> None:
    backlog, portions = Backlog(CREDIT, Overflow.BLOCK), [Portion(parcel()) for _ in range(4)]
    for portion in portions:
        backlog.append(portion)
    assert all(portion.waiting for portion in portions)
    assert (backlog.pop(), backlog.remove(portions[2])) == (portions[0], portions[2])
    assert [portion.waiting for portion in portions] == [False, True, False, True]
    assert backlog.take_all() == [portions[1], portions[3]]
    assert not any(portion.waiting for portion in portions)


def test_only_the_oldest_that_is_transient_gives_way_and_to_none_that_waits_whatever_happens() -> None:
    stays, goes = Portion(parcel(1)), Portion(parcel())
    for policy in Overflow:
        backlog = Backlog(CREDIT, policy)
        for portion in (stays, goes, Portion(parcel())):
            backlog.append(portion)
        found = backlog.giving_way_to(Portion(parcel()))
        assert found is (goes if policy is Overflow.DROP_OLDEST else None)
        assert backlog.giving_way_to(Portion(parcel(2))) is None
