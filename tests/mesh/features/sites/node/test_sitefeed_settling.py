"""The position from which a site is owed everything after a restart."""

from mesh.features.sites.node.site_in_flight import PartlySent
from mesh.features.sites.node.sitefeed import SiteFeed
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.commands import Answer
from tests.mesh.envelopes import envelope
from tests.mesh.routing.feeds import CREDIT, ME

STREAM = b"s" * 16


def sent(*places: int) -> SiteFeed:
    """Return a feed from which envelopes at `places` were sent, without answers."""
    left: list[int] = []

    def leaves(feed: SiteFeed, given: PartlySent) -> None:
        left.append(given.stored.position)

    feed = SiteFeed("NYC", CREDIT, leaves, lambda stored: None, transient=1000)
    for n in places:
        e = envelope("k", [b""], first=n, persistent=True, stream=STREAM)
        feed.offer(EnvelopeSlice(StoredEnvelope(e, n, ME, own=True, owed=1)), 0.0)
    assert left == list(places)
    return feed


def answered(feed: SiteFeed, number: int, state: str = "OK") -> int:
    """Answer one number, and return the position up to which the site is settled."""
    feed.apply_answer(STREAM, Answer("", number, number, state), 0.0)
    return feed.position


def waits(feed: SiteFeed, number: int) -> None:
    """Report for the site that a number waits there for its master."""
    feed.waits(STREAM, Answer("", number, number, "NO_MASTER"))


def test_what_has_left_is_owed_though_a_later_one_that_waited_there_is_done() -> None:
    feed = sent(1, 2, 3)
    waits(feed, 2)
    assert answered(feed, 2) == 0, "1 is under way"
    assert answered(feed, 3) == 0
    assert answered(feed, 1) == 3


def test_what_waits_there_is_owed_though_all_that_left_is_done() -> None:
    feed = sent(1, 2, 3)
    waits(feed, 2)
    assert [answered(feed, number) for number in (1, 3)] == [1, 1]
    assert answered(feed, 2) == 3


def test_what_is_expired_behind_something_under_way_settles_nothing_before_it() -> None:
    feed = sent(1, 2)
    first, second = feed._row
    feed.expire([second])
    assert feed.position == 0
    assert answered(feed, 1) == 2 and not first.left
