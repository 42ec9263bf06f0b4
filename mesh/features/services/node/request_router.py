"""Chooses the nodes, or the gateways, for messages to addresses, and sends the messages there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mesh.balancers.base import Registration
from mesh.features.services.model.sent_requests import EnvelopeWay, SentRequests
from mesh.features.services.node.dealing import dealt, seen
from mesh.features.services.node.open_requests import OpenRequests
from mesh.features.services.node.request_batch import RequestBatch
from mesh.features.services.node.requester_replies import RequesterReplies
from mesh.features.services.node.service_stats import ServiceStats
from mesh.features.services.node.serving import ServedAddresses
from mesh.features.services.node.strategies import NodeStrategies
from mesh.hops import site_of
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.seams import RemoteAddresses
from mesh.kernel.peers.peer import Peer
from mesh.kernel.presence.facts import ServersChanged
from mesh.kernel.presence.presence import Presence
from mesh.names import ADDRESS, OTHERS
from mesh.remote_names import UNREACHABLE
from mesh.routing.requester import CLIENT, GATEWAY
from mesh.wire.commands import Answer
from mesh.wire.envelope import EVERY, LOCAL_ONLY, REQUEST, Envelope
from mesh.wire.ttls import ttl_of


class RequestRouter(Component):
    """Component that asks the strategies for a node, once the servers of an address are known.

    `named` returns the peer of that name, or `None` for this node.
    """

    def __init__(
        self,
        context: NodeContext,
        named: Callable[[str], Peer | None],
        peers: Mapping[bytes, Peer],
        presence: Presence,
        serving: ServedAddresses,
        strategies: NodeStrategies,
        departing: RequestBatch,
        open_requests: OpenRequests,
        requester: RequesterReplies,
        faring: ServiceStats,
    ) -> None:
        self._context = context
        self._named = named
        self._peers = peers
        self._presence = presence
        self._serving = serving
        self._strategies = strategies
        self._departing = departing
        self._open = open_requests
        self._requester = requester
        self._faring = faring

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(ServersChanged, self._on_servers_changed),)

    def _on_servers_changed(self, fact: ServersChanged) -> None:
        peer = self._peers.get(fact.uuid)
        if fact.kind == ADDRESS and fact.change and (peer is not None or fact.uuid == self._context.me.uuid):
            node = self._context.me.name if peer is None else peer.node.name
            self._strategies.registrations([Registration(fact.name, node, fact.change)])

    @property
    def _remote(self) -> RemoteAddresses:
        return self._context.face.remote_addresses[OTHERS]

    def choose_when_known(self, memory: SentRequests, e: Envelope, until: float) -> None:
        """Choose a node once the servers are known, and not before earlier messages to the address."""
        if e.flags & LOCAL_ONLY:
            self.choose_nodes(memory, e, until)
        elif site := site_of(e.to):
            self._remote.when_known(site, lambda: self._choose_way(memory, e, until, site))
        else:
            self._presence.when_known((ADDRESS, e.to), lambda: self.choose_nodes(memory, e, until))

    def choose_nodes(
        self,
        memory: SentRequests,
        e: Envelope,
        until: float,
        tries: int = 0,
        in_vain: frozenset[bytes] = frozenset(),
    ) -> None:
        """Choose nodes for the messages of `memory`, and send them, or refuse them if no node serves them.

        `tries` nodes were tried before; those in `in_vain` have no consumer.
        """
        if self._open.streams.get(e.stream) is not memory:
            return  # the session was closed meanwhile
        if (site := site_of(e.to)) and not e.flags & LOCAL_ONLY:
            self._choose_way(memory, e, until, site, tries, in_vain)
            return
        nodes = self._nodes(e, in_vain)
        names = self._strategies.several(e.to, nodes, lambda: seen(e.to, e, 0)) if e.flags & EVERY else nodes
        if not names:
            self._requester.nobody(memory, e)
        elif e.flags & EVERY:
            self._send_to_nodes(memory, e, until, {self._uuid(name): None for name in names}, tries, in_vain)
        else:
            for indices, name in dealt(self._strategies, e.to, nodes, e):
                part = e.part(e.first + indices[0], e.first + indices[-1])
                self._send_to_nodes(memory, part, until, {self._uuid(name): None}, tries, in_vain)

    def _choose_way(
        self,
        memory: SentRequests,
        e: Envelope,
        until: float,
        site: str,
        tries: int = 0,
        in_vain: frozenset[bytes] = frozenset(),
    ) -> None:
        """Send the envelope through a gateway to that site, or refuse it.

        While the gateways stay the same, all messages of a sender use the same one.
        """
        if self._open.streams.get(e.stream) is not memory:
            return
        why = self._remote.why_none(site)
        way = self._remote.way(site, e.stream, in_vain) if not why else None
        if way is not None:
            self._send_to_nodes(memory, e, until, {way: None}, tries, in_vain)
        else:
            why = why or self._remote.why_no_way(site)
            answer = Answer("", 1, 1, UNREACHABLE, text=f"{why}.")
            self._requester.report_answer(memory, e.stream, range(e.first, e.last + 1), answer)

    def _nodes(self, e: Envelope, in_vain: frozenset[bytes]) -> dict[str, int]:
        me = self._context.me
        nodes = {}
        if not e.flags & LOCAL_ONLY:
            for uuid, consumers in self._presence.servers((ADDRESS, e.to)).items():
                if uuid in self._peers and uuid not in in_vain:
                    nodes[self._peers[uuid].node.name] = consumers
        here = self._serving.here(e.to, is_ours=not e.sender.startswith(OTHERS))
        if here and me.uuid not in in_vain:
            nodes[me.name] = here
        return nodes

    def _uuid(self, name: str) -> bytes:
        peer = self._named(name)
        return self._context.me.uuid if peer is None else peer.node.uuid

    def _send_to_nodes(
        self,
        memory: SentRequests,
        e: Envelope,
        until: float,
        nodes: dict[bytes, int | None],
        tries: int,
        in_vain: frozenset[bytes],
    ) -> None:
        way = EnvelopeWay(
            e.stream, e.to, e.sender, until, bool(e.flags & REQUEST), bool(e.flags & EVERY), nodes,
            e, tries, in_vain, dict.fromkeys(range(e.first, e.last + 1)), self._context.clock.now,
        )  # fmt: skip
        self._open.register(memory, way)
        ttl = ttl_of(until, self._context.clock.now)
        for uuid in nodes:
            if not way.is_for_all:
                self._strategies.sent_to(self._faring.name(uuid), e.count)
            if uuid == self._context.me.uuid and e.to.startswith(OTHERS):
                self._remote.accept(CLIENT, e, ttl)
            elif uuid == self._context.me.uuid:
                self._serving.accept(GATEWAY if e.sender.startswith(OTHERS) else CLIENT, e, ttl)
            else:
                self._departing.add(uuid, e, ttl)
