"""Mistakes in the product's rules, which the models call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import Any

from mesh.client.core import intake
from mesh.client.core import visits as client_visits
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.part.queue_consumers import QueueConsumers
from mesh.kernel.subscribers import clients, pull, resume_source, resuming, visit
from mesh.routing import aside, upstream, visits
from mesh.routing.feed import Feed
from mesh.routing.visits import Standing
from mesh.streams.origin import OriginStream
from mesh.streams.outbox import Outbox
from mesh.streams.seen import SeenMessages
from mesh.wire.envelope import Envelope
from tools.models.planting import Mistake


def in_product(scenario: str, owner: Any, name: str, value: Any) -> Mistake:
    return Mistake(scenario, ((owner, name, value),))


def all_with_one(masters: Set[int], unconfirmed: Set[int], is_expecting: bool) -> tuple[set[int], bool]:
    """Return all masters as confirmed, as soon as one is."""
    return ({*masters}, True) if masters - unconfirmed else (set(), False)


def not_even_warned(self: Outbox) -> Iterator[Envelope]:
    """Yield the envelopes without any answer."""
    for stream in self._streams.values():
        yield from (waiting.envelope for waiting in stream.waiting if waiting.silent)


def everything(self: Any, origin: Any, stream: Any, first: int, last: int) -> list[tuple[int, int]]:
    return [(first, last)]


def sent_up_to(unacknowledged: Iterable[int], following: int) -> int:
    return following - 1


PRODUCT_MISTAKES = {
    "product: attach numbers are not compared": in_product(
        "one master", visits, "compare", lambda attach, known: Standing.NEWER
    ),
    "product: a client names only its last node": in_product("one master", client_visits, "FORMER", 1),
    "product: a pin begins at the end": in_product(
        "one master", resume_source, "pinned_range", lambda at, following, owed: (following, following - 1)
    ),
    "product: a pin ends when all is sent": in_product("one master", pull, "acknowledged_up_to", sent_up_to),
    "product: all that was received is settled": in_product(
        "one master", upstream, "settled_position", lambda received, oldest: received
    ),
    "product: messages above the resumed part are dropped": in_product(
        "one master", aside, "is_resumed", lambda position, end: True
    ),
    "product: newer messages do not wait": in_product("one master", Feed, "offer", Feed.offer_resumed),
    "product: a repeat is read": in_product("one master", SeenMessages, "fresh", everything),
    "product: all masters are confirmed with one": in_product(
        "two masters", resuming, "confirmed_masters", all_with_one
    ),
    "product: a session is closed at the last release": in_product(
        "two masters", visit, "is_released", lambda masters, named, is_last: is_last
    ),
    "product: a former node does not wait for its release": in_product(
        "given up", clients, "linger_of", lambda has_left, has_feeds, linger, peer_linger: linger
    ),
    "product: any claim is granted": in_product(
        "queue", QueueConsumers, "_claimed", lambda self, old, mine, held, taker: iter(())
    ),
    "product: a redelivery is not marked": in_product(
        "queue", QueuedEnvelope, "column", lambda self, runs: b""
    ),
    "product: warned messages are not resent": in_product("publish", Outbox, "resend", not_even_warned),
    "product: a number is accepted twice": in_product(
        "publish", OriginStream, "accept_numbers", lambda self, first, last, low: [(first, last)]
    ),
    "product: overtaken messages are not flagged": in_product("publish without a rule", intake, "LATE", 0),
}
