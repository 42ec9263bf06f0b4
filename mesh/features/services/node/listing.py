"""Lists the served addresses with their nodes, and ranks the nodes of one address.

Nothing is sent to the services.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mesh.features.services.node.hints import Hints
from mesh.features.services.node.serving import ServedAddresses
from mesh.kernel.context.component import Component
from mesh.kernel.context.incoming_call import IncomingCall, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.pages import NAMES, ROWS, fitting, page
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.presence.presence import Presence
from mesh.kernel.routes.balancing import Balancing
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.names import ADDRESS, check_address
from mesh.printable import count
from mesh.reasons.near import near
from mesh.reasons.reason import reason
from mesh.reasons.what import What
from mesh.wire.calls import AskAddresses, AskServers
from mesh.wire.replies import Reason, ServedAt, ServedRow, ServedRows, ServerRow, Servers
from mesh.wire.serving import read_numbers

SHOWN = 16  # nodes per address


class Listing(Component):
    """Component that lists all addresses.

    Each node reports the addresses that it serves; the node that a client asks merges the reports.
    """

    def __init__(
        self,
        context: NodeContext,
        neighbours: Neighbours,
        nodes: Nodes,
        questions: PeerCalls,
        balancing: Balancing,
        presence: Presence,
        serving: ServedAddresses,
    ) -> None:
        self._context = context
        self._neighbours = neighbours
        self._nodes = nodes
        self._questions = questions
        self._balancing = balancing
        self._presence = presence
        self._serving = serving
        self._hints = Hints(context, presence)

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskAddresses, self._on_list), answer(AskServers, self._servers))

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskAddresses, lambda asked: asked.reply(self._own(asked.ask))),)

    def explain(self, what: What) -> Iterator[Reason]:
        if what.kind != ADDRESS:
            return
        address = self._serving.addresses.get(what.text)
        if address is not None and address.servers and address.bytes:
            yield reason("ADDRESS_BUSY", n=len(address.servers), bytes=address.bytes)
        if what.is_start:
            yield from self._choice(what.text)
        if what.text not in self._serving.addresses and (found := near(what.text, self._addresses())):
            yield reason("NEAR_ADDRESS", near=found)

    def _choice(self, address: str) -> Iterator[Reason]:
        told = self._ranked(address)
        for row in told.servers[:SHOWN]:
            latency = f"{row.latency:.3f}"
            names = {"node": row.node, "weight": row.weight}
            served = count(row.consumers, "server")
            yield reason("SERVED", n=served, outstanding=row.outstanding, latency=latency, **names)
            if row.weight < 1.0:
                yield reason("WEIGHT_LOW", **names)
        if told.servers and told.is_ordered:
            yield reason("CHOSEN", strategy=told.strategy, node=told.servers[0].node)

    def _addresses(self) -> Iterator[str]:
        return (name for kind, name in self._presence.known_names() if kind == ADDRESS)

    def _own(self, ask: AskAddresses) -> ServedRows:
        me = self._context.me
        served = {name: n for (kind, name), n in self._presence.own.items() if kind == ADDRESS}

        def row(address: str) -> ServedRow:
            numbers = list(read_numbers(self._presence.note((ADDRESS, address))))
            here = ServedAt(node=me.name, uuid=me.uuid.hex(), consumers=served[address], numbers=numbers)
            return ServedRow(address=address, nodes=[here])

        rows, after = page(served, row, ask)
        return ServedRows(addresses=rows, next=after)

    def _on_list(self, asked: IncomingCall[AskAddresses]) -> None:
        def came(replies: Replies[ServedRows], missing: list[str]) -> None:
            pages = [self._own(asked.ask), *(told.value for told in replies.values() if not told.code)]
            asked.reply(merged(pages, asked.ask, missing))

        def ask() -> None:
            self._questions.ask_all(self._nodes.askable(), asked.ask, ServedRows, came)

        self._questions.when_settled(ask)

    # --- one address --------------------------------------------------------------------------------------

    def _servers(self, asked: IncomingCall[AskServers]) -> None:
        """Answer with the nodes of one address, best first. Raises: LocalError for an invalid address."""
        address = check_address(asked.ask.address)
        self._questions.when_settled(
            lambda: self._presence.when_known((ADDRESS, address), lambda: asked.reply(self._ranked(address)))
        )

    def _ranked(self, address: str) -> Servers:
        nodes = self._consumers(address)
        strategy, candidates = self._balancing.ranked(address, nodes)
        rows = [
            ServerRow(
                node=it.node,
                uuid=it.uuid.hex(),
                consumers=it.consumers,
                is_here=it.is_here,
                load=it.load,
                outstanding=it.outstanding,
                latency=it.latency,
                weight=it.weight,
            )
            for it in candidates
        ]
        is_ordered = not self._balancing.reads_message(address)
        text = "" if rows else self._hints.nobody(address)
        return Servers(servers=fitting(rows, ROWS), strategy=strategy, is_ordered=is_ordered, text=text)

    def _consumers(self, address: str) -> dict[str, int]:
        peers = self._neighbours.peers
        served = self._presence.servers((ADDRESS, address))
        nodes = {peers[uuid].node.name: consumers for uuid, consumers in served.items()}
        if here := self._serving.here(address, is_ours=True):
            nodes[self._context.me.name] = here
        return nodes


def merged(pages: Sequence[ServedRows], ask: AskAddresses, missing: Sequence[str]) -> ServedRows:
    """Merge the pages of several nodes, up to the last address that all of them cover."""
    nodes: dict[str, list[ServedAt]] = {}
    for one in pages:
        for row in one.addresses:
            nodes.setdefault(row.address, []).extend(row.nodes)
    end = min((one.next for one in pages if one.next), default="")
    told = [address for address in nodes if not end or address <= end]

    def whole(address: str) -> ServedRow:
        return ServedRow(address=address, nodes=sorted(nodes[address], key=lambda at: at.node))

    rows, after = page(told, whole, ask)
    return ServedRows(addresses=rows, next=after or end, missing=list(missing)[:NAMES])
