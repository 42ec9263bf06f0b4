"""The message accounts of a node: two equations that hold at every moment.

The first counts messages that clients of this node publish, each sequence number once:
    client_published = client_routed + client_unrouted + client_refused + client_held
The second counts messages that this node owes its subscribers (subscriptions, inboxes and peers):
    matched = delivered + sent_to_peers + dropped + expired_waiting + buried + pending
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from mesh.routing.feed import Feed
from mesh.streams.ranges import Ranges
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope

OUTCOMES = ("routed", "unrouted", "refused")
FATES = ("matched", "delivered", "dropped", "expired", "buried", "pending")


@dataclass(slots=True)
class _Lane:
    said: Ranges = field(default_factory=Ranges)
    done: Ranges = field(default_factory=Ranges)

    @property
    def held(self) -> int:
        return self.said.count() - self.done.count()


class Accounts:
    """The message accounts of one node, since its start."""

    def __init__(self) -> None:
        self.published = 0  # by clients of this node
        self.outcomes = dict.fromkeys(OUTCOMES, 0)
        self._lanes: dict[bytes, dict[str, _Lane]] = {}  # by stream, by domain
        self._gone: set[bytes] = set()  # streams whose session is closed
        self._closed = dict.fromkeys(FATES, 0)  # of subscribers that ended
        self._closed_peers = 0  # the part of `delivered` for peers

    # --- published messages -----------------------------------------------------------------------------

    def count_published(self, envelope: Envelope) -> None:
        """Count the messages of a client's envelope that were not counted before."""
        self._gone.discard(envelope.stream)
        lanes = self._lanes.get(envelope.stream)
        if lanes is None:
            lanes = self._lanes[envelope.stream] = {}
        lane = lanes.get(envelope.domain)
        if lane is None:
            lane = lanes[envelope.domain] = _Lane()
        for first, last in lane.said.missing(envelope.first, envelope.last):
            lane.said.add(first, last)
            self.published += last - first + 1

    def count_answer(self, stream: bytes, answer: Answer) -> None:
        """Count the messages of a client to which `answer` is the first final answer."""
        lane = self._lanes.get(stream, {}).get(answer.domain)
        if lane is None or answer.state == "FORWARD_WARNING":
            return
        refused = answer.state != "OK"
        outcome = "refused" if refused else "routed" if answer.matched else "unrouted"
        for first, last in _both(lane.said, lane.done.missing(answer.first, answer.last)):
            lane.done.add(first, last)
            self.outcomes[outcome] += last - first + 1
        if stream in self._gone:
            self.close_stream(stream)

    def is_done(self, stream: bytes, domain: str, number: int) -> bool | None:
        """Return whether a published message has its final answer; `None` if the message is unknown."""
        lane = self._lanes.get(stream, {}).get(domain)
        return number in lane.done if lane is not None and number in lane.said else None

    def close_stream(self, stream: bytes) -> None:
        """Forget the finished domains of a closed session's stream; later answers finish the others."""
        held = {domain: lane for domain, lane in self._lanes.pop(stream, {}).items() if lane.held}
        if held:
            self._lanes[stream] = held
        (self._gone.add if held else self._gone.discard)(stream)

    # --- deliveries -------------------------------------------------------------------------------------

    def count_closed(self, feed: Feed, is_peer: bool = False) -> None:
        """Add the counts of a subscriber that ended, after its feed was cleared."""
        for fate in FATES:
            self._closed[fate] += getattr(feed, fate)
        self._closed_peers += feed.delivered * is_peer

    def figures(self, feeds: Sequence[Feed]) -> dict[str, int]:
        """Return the counts of both equations; `feeds` are all feeds that exist now."""
        fate = self._fates(feeds)
        to_peers = self._closed_peers + sum(feed.delivered for feed in feeds if feed.is_peer)
        held = self.published - sum(self.outcomes.values())
        return {
            "client_published": self.published,
            **{f"client_{outcome}": n for outcome, n in self.outcomes.items()},
            "client_held": held,
            "matched": fate["matched"],
            "delivered": fate["delivered"] - to_peers,
            "sent_to_peers": to_peers,
            "dropped": fate["dropped"],
            "expired_waiting": fate["expired"],
            "buried": fate["buried"],
            "pending": fate["pending"],
        }

    def _fates(self, feeds: Iterable[Feed]) -> dict[str, int]:
        matched, delivered, dropped, expired, buried, pending = (self._closed[fate] for fate in FATES)
        for feed in feeds:  # one pass over all feeds, as it runs every few seconds
            matched += feed.matched
            delivered += feed.delivered
            dropped += feed.dropped
            expired += feed.expired
            buried += feed.buried
            pending += feed.pending
        return dict(zip(FATES, (matched, delivered, dropped, expired, buried, pending), strict=True))


def _both(ranges: Ranges, others: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return [part for first, last in others for part in ranges.common(first, last)]
