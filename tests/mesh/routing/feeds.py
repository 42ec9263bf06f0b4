"""A feed for tests, with what it has sent and released."""

from collections.abc import Callable
from typing import Any

from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.inbox import Inbox
from mesh.routing.overflow import Credit
from mesh.routing.stored_envelope import StoredEnvelope
from tests.mesh.envelopes import envelope

ME, HERON = b"m" * 16, b"h" * 16  # this node, and another master
CREDIT = Credit(bytes=400, items=3, backlog=1200)


def stored(
    position: int = 0, count: int = 1, size: int = 0, master: bytes = ME, expires: int = 0
) -> StoredEnvelope:
    """Return a stored envelope of a master's log, owed to one feed if it has a position.

    `expires` is the expiry of every message.
    """
    e = envelope(" ".join("a" * count), [bytes(size)] * count, persistent=position > 0, expires=expires)
    return StoredEnvelope(e, position, master, own=master == ME, owed=int(position > 0))


def inbox(*arguments: Any, **options: Any) -> Inbox:
    """Return an inbox whose expired messages are not dead-lettered, unless `bury` is given."""
    return Inbox(*arguments, **{"bury": lambda slice_, void: None, **options})


class Ends:
    """A feed, with the slices that it has sent and the envelopes that it has released."""

    def __init__(self, credit: Credit = CREDIT, kind: Callable[..., Any] = Feed, **options: Any) -> None:
        self.sent: list[EnvelopeSlice] = []
        self.released: list[StoredEnvelope] = []

        def send(feed: Feed, slice_: EnvelopeSlice) -> None:
            self.sent.append(slice_)

        self.feed = kind(b"f", credit, send, self.released.append, **options)

    def offer(self, *all_stored: StoredEnvelope, now: float = 0.0) -> None:
        for p in all_stored:
            self.feed.offer(EnvelopeSlice(p), now)

    def take_gap(self) -> int:
        """Return how many messages were dropped and not reported yet."""
        gap: int = self.feed.gap
        self.feed.gap = 0
        slices: list[EnvelopeSlice] = [*self.sent, *self.feed._backlog]
        return gap + sum(slice_.take_gap() for slice_ in slices)

    @property
    def positions(self) -> list[int]:
        return [slice_.stored.position for slice_ in self.sent]
