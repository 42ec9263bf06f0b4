"""Dirty reads: each message is given once, and is retracted only from its receivers."""

from mesh.client.batch import Batch
from mesh.client.core.several import GivenBefore
from mesh.client.core.unconfirmed import RANGES, Unconfirmed
from mesh.streams.seen import SeenMessages
from mesh.wire.envelope import PROVISIONAL, RETRACTED, Envelope
from tests.mesh.envelopes import envelope


def early(keys: str = "k k k", first: int = 1) -> Envelope:
    return envelope(keys, first=first, flags=PROVISIONAL)


def test_it_is_given_once_whatever_comes_again() -> None:
    known, seen = Unconfirmed(), SeenMessages()
    assert known.select_new(early(), None, seen) is None
    assert known.select_new(early(), (1,), seen) == ()
    assert known.without(envelope("k k k k", first=2), None) == (2, 3)
    assert known.without(envelope("k"), None) == ()
    assert known.without(envelope("k"), None) is None, "nothing is kept of what its master has sent"


def test_what_its_master_has_sent_is_not_given_again_before_it() -> None:
    known, seen = Unconfirmed(), SeenMessages()
    e = envelope("k k")
    seen.fresh(b"master", (e.stream, e.domain), 2, 2)
    assert known.select_new(early(), None, seen) == (2,), "nor what it comes behind"


def test_only_what_was_given_is_taken_back() -> None:
    known, seen = Unconfirmed(), SeenMessages()
    known.select_new(early(first=2), None, seen)
    gone = envelope("k k", flags=RETRACTED)
    assert known.select_new(gone, None, seen) == (1,)
    assert known.select_new(gone, None, seen) == ()
    assert known.without(envelope("k", first=2), None) is None, "it comes after all"


def test_no_more_is_remembered_than_there_is_room_for() -> None:
    known, seen = Unconfirmed(), SeenMessages()
    for number in range(1, 4 * RANGES, 2):
        known.select_new(early("k", first=number), None, seen)
    assert known.select_new(early("k", first=1), None, seen) is None, "it is forgotten"
    assert known.select_new(early("k", first=4 * RANGES - 1), None, seen) == ()


def test_of_several_that_are_read_as_one_what_was_given_is_taken_back_too() -> None:
    given = GivenBefore()
    assert given.news(Batch(early("k"))) is not None
    assert given.news(Batch(envelope("k"))) is None
    assert given.news(Batch(envelope("k", flags=RETRACTED))) is not None
