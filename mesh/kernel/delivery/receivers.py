"""The receivers of accepted messages: which subscribers, queues and sites is an envelope for?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mesh.errors import NoQueue
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.durable_bindings import NOT_FOR_THEM, DurableBindings
from mesh.names import CLIENT, OTHERS, PUTS, QUEUE, kind_of
from mesh.routing.feed import Feed
from mesh.routing.merging import Merging
from mesh.routing.peerfeed import PeerFeed
from mesh.routing.sink import AddressResolver, Sink, Targets
from mesh.routing.subscriptions import SubscriptionIndex
from mesh.wire.envelope import FIRST, LOCAL_ONLY, MARKS, RESENT, SECOND, SILENT, Envelope

# Law 1: a direct message is delivered only to its address, a LOCAL_ONLY message to no other node or site.
# Law 2: groups and durable subscriptions get a message from one of its masters, see mesh/routing/first.py.
# Law 3: a client receives a message of another site once, although several masters may relay it.
# Law 4: a SILENT end of a topic is delivered to nodes, whose caches it empties, and to no client.


class Receivers:
    """The subscriptions to this node's own log, and all other receivers of the messages that it accepts."""

    def __init__(self, context: NodeContext, merging: Merging) -> None:
        self.clients = SubscriptionIndex[Feed]()
        self.peers = SubscriptionIndex[PeerFeed]()
        self.groups = SubscriptionIndex[Sink]()  # one member of a group gets each message
        self.has_groups = False  # whether there are groups
        self.bindings = DurableBindings(context)  # of durable subscriptions
        self._context = context
        self._merging = merging

    def pieces(self, came: Envelope, envelope: Envelope) -> tuple[list[tuple[Envelope, Targets]], int]:
        """Return an envelope and its copies for queues, each with its targets, and the number of receivers.

        `came` is the envelope as it arrived, with its original marks. Raises: LocalError or StoreFull if a
        receiver refuses the envelope.
        """
        if envelope.to:
            return self.addressees(envelope.to).addressed(envelope)
        targets: Targets = [] if envelope.flags & SILENT else list(self.clients.plan(envelope))
        if envelope.sender.startswith(OTHERS):
            targets = self._unmerged(envelope, targets)
        if not envelope.flags & LOCAL_ONLY:
            targets += self.peers.plan(envelope)
            for sinks in self._context.face.message_sinks:
                targets += sinks.plan(envelope)
        if self.has_groups and not came.flags & SECOND:
            targets += self.groups.plan(envelope)
        if self.bindings.any and not came.flags & NOT_FOR_THEM:
            # A node that is now lost may have chosen another FIRST master before.
            may_be_second = came.flags & MARKS == FIRST and came.flags & RESENT > 0
            copies = self.bindings.copies(envelope, may_be_second)
            return [(envelope, targets), *copies], len(targets) + len(copies)
        return [(envelope, targets)], len(targets)

    def _unmerged(self, envelope: Envelope, targets: Targets) -> Targets:
        """Return `targets` without messages that another gateway of this site has already forwarded here."""
        news = self._merging.news(envelope)
        if news is None:
            return targets
        kept = [(taker, news if each is None else tuple(set(each) & set(news))) for taker, each in targets]
        return [(taker, tuple(sorted(each))) for taker, each in kept if each]

    def addressees(self, to: str) -> AddressResolver:
        """Return the component that delivers to this destination. Raises: NoQueue if there are no queues."""
        if kind_of(to) != QUEUE:
            return self._context.face.address_resolvers[CLIENT]
        if (found := self._context.face.address_resolvers.get(QUEUE)) is None:
            what = f"The queue {to.removeprefix(PUTS)!r} does not exist at {self._context.me.name}"
            raise NoQueue(f"{what}, which runs without the queues feature.")
        return found

    def sites_for(self, key: str, domain: str) -> Sequence[str]:
        return [name for sinks in self._context.face.message_sinks for name in sinks.names(key, domain)]

    def wanting(self, key: str, domain: str, xml: str, is_local: bool) -> Iterator[Sink]:
        """Yield the sinks other than groups that may be owed a message from before the node's start."""
        yield from self.clients.match(key, domain, xml)
        if not is_local:
            yield from self.peers.match(key, domain, xml)
            for sinks in self._context.face.message_sinks:
                yield from sinks.match(key, domain)
