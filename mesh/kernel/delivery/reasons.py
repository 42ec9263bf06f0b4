"""Explains topics and messages at their master: what exists, which subscribers match, what happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from mesh.errors import RemoteError
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.durable_bindings import DurableBindings
from mesh.names import check_group
from mesh.reasons.reason import ago, reason
from mesh.reserved import DEAD_LETTERS
from mesh.routing.feed import Feed
from mesh.routing.log import Log
from mesh.routing.peerfeed import PeerFeed
from mesh.routing.retained_value import RetainedValue
from mesh.routing.sink import Sink
from mesh.routing.subscriptions import SubscriptionIndex
from mesh.values import message_id
from mesh.wire.properties import decode_properties
from mesh.wire.replies import Reason

LOOKED_AT = 20_000  # retained values


class Master(Protocol):
    """A master's log and subscriptions."""

    log: Log
    clients: SubscriptionIndex[Feed]
    peers: SubscriptionIndex[PeerFeed]
    groups: SubscriptionIndex[Sink]
    bindings: DurableBindings

    def goes_abroad(self, key: str, domain: str) -> Sequence[str]:
        """Return the other sites that receive messages of that topic."""


def of_topic(router: Master, key: str, domain: str, context: NodeContext) -> Iterator[Reason]:
    """Yield reasons about a topic: its retained value, and its receivers other than local clients."""
    last = router.log.retained.get(key, domain)
    if last is not None:
        yield _of_value(last, context)
    yield from _wanted(router, key, domain)


def _of_value(last: RetainedValue, context: NodeContext) -> Reason:
    e = last.envelope
    name = message_id(e.stream, e.domain, last.number)
    if last.is_local:
        return reason("LOCAL_ONLY", id=name)
    if last.is_void(context.clock.believed):
        return reason("VALUE_EXPIRED", id=name, age=ago((context.clock.believed - e.expires) / 1e9))
    return reason("LAST_VALUE", id=name, sender=e.sender, age=ago((context.clock.believed - e.sent) / 1e9))


def _wanted(router: Master, key: str, domain: str) -> Iterator[Reason]:
    peers = router.peers.match(key, domain)
    if peers:
        nodes = [peer.owner for peer in peers]
        yield reason("ASKED_BY", nodes, nodes=nodes)
    for group in router.groups.match(key, domain):
        name, *_ = check_group(group.key[1:].decode())
        yield reason("GROUP_TAKES", group=name)
    if names := router.bindings.taking(key, domain):
        yield reason("DURABLE_TAKES", names=names)
    if sites := router.goes_abroad(key, domain):
        yield reason("SITES_TAKE", names=sites)


def of_message(
    router: Master, stream: bytes, domain: str, number: int, context: NodeContext
) -> Iterator[Reason]:
    """Yield the reasons that this node can give for the state of one message."""
    lane = router.log.find_stream(stream, domain)
    if lane is not None:
        if any(each.answer.first <= number <= each.answer.last for each in lane.waiting):
            yield reason("STORING")
        elif number in lane.origin.refused:
            yield reason("REFUSED", why="REFUSED")
        elif number in lane.origin.above:
            yield reason("ACCEPTED")
        elif number < lane.origin.low:
            yield reason("ACCEPTED_BEFORE")
    letter = router.log.retained.get(f"{DEAD_LETTERS}/{message_id(stream, domain, number)}", "")
    if letter is not None:
        yield reason("DEAD", why=_code(letter))
    last = router.log.retained.value_of(stream, domain, number, LOOKED_AT)
    if last is not None:
        yield _of_value(last, context)
        yield from _wants(router, last.key, domain, bool(last.is_local))


def _wants(router: Master, key: str, domain: str, is_local: bool) -> Iterator[Reason]:
    here = router.clients.match(key, domain)
    others = [] if is_local else list(_wanted(router, key, domain))
    if here:
        yield reason("WANTED_HERE", n=len(here))
    yield from others
    if not here and not others and not is_local:
        yield reason("UNWANTED", key=key)


def _code(letter: RetainedValue) -> str:
    """Return the code of a dead letter; its other headers are only for authorized readers."""
    try:
        return str(decode_properties(letter.data[: letter.props]).headers.get("dead-code", "?"))
    except RemoteError:
        return "?"
