"""Asks nodes of other machines to dial the advertised address of this node, and reports the outcome."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from math import inf

from mesh.discovery.advertised import is_loopback
from mesh.discovery.interfaces import host_of
from mesh.features.dialback.model import (
    LOCAL,
    NO,
    SETTLE,
    AddressCheck,
    Answer,
    Outcome,
    is_elsewhere,
    loopback_reachability,
)
from mesh.features.dialback.node.dialing import DialingBack
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext, Reachability
from mesh.kernel.feature import FeatureParts
from mesh.kernel.parts import Parts
from mesh.kernel.peers.facts import AddressesChanged, PeerConnected
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.reasons import what as kinds
from mesh.reasons.reason import reason
from mesh.reasons.what import What
from mesh.wire.calls import AskDialBack
from mesh.wire.commands import Call
from mesh.wire.limits import DIAL_BACK
from mesh.wire.replies import DialedBack, Reason

WITHIN = 8.0  # s that a node has for its dial and its answer

Hosts = Callable[[], Collection[str]]  # the IP addresses of this machine, read at most once


class CheckingAddress(Component):
    """Component that knows whether other machines can dial this node, in `context.reachable`."""

    def __init__(self, context: NodeContext, neighbours: Neighbours, questions: PeerCalls) -> None:
        self._context = context
        self._neighbours = neighbours
        self._questions = questions
        self._check = AddressCheck("", inf)

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(PeerConnected, lambda fact: self._on_connected(fact.peer, self._hosts())),
            on_fact(AddressesChanged, lambda _: self._begin()),
        )

    def start(self, beginning: Beginning) -> None:
        self._begin()

    def tick(self) -> None:
        if self._context.clock.now >= self._check.due:
            self._advance()
        self._wake()

    def explain(self, what: What) -> Iterator[Reason]:
        found = self._context.reachable
        if what.kind == kinds.NODE and what.text == self._context.me.name and found.hint:
            yield reason("UNREACHABLE", why=found.text, hint=found.hint.removesuffix("."))

    # --- rounds -----------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Begin to check the advertised address, unless it is the checked one."""
        address = self._context.me.address
        if address == self._check.address:
            return
        is_local = is_loopback(address)
        self._check = AddressCheck(address, inf if is_local else self._context.clock.now + SETTLE)
        text = f"only this machine can dial {address}"
        self._context.reachable = Reachability(LOCAL, text) if is_local else Reachability()
        hosts = self._hosts()
        for peer in self._neighbours.living_peers() if is_local else ():
            self._on_connected(peer, hosts)
        self._wake()

    def _wake(self) -> None:
        if self._check.due < inf:
            self._context.clock.wake(self._check.due)

    def _hosts(self) -> Hosts:
        """Return the addresses of this machine for one step, which reads its interfaces once at most."""
        return cache(self._context.settings.hosts)

    def _on_connected(self, peer: Peer, hosts: Hosts) -> None:
        """Check the address with a node that can be asked now."""
        if is_loopback(self._check.address):
            if self._context.reachable.code == LOCAL and self._is_elsewhere(peer, hosts):
                self._report(loopback_reachability(self._check.address, peer.node.name))
        else:
            self._check.node_came(self._context.clock.now)
            self._wake()

    def _advance(self) -> None:
        context, hosts = self._context, self._hosts()
        living = self._neighbours.living_peers()
        peers = {peer.node.uuid: peer for peer in living if self._can_ask(peer, hosts)}
        uuid = self._check.next_node(list(peers), context.clock.now, context.jitter())
        if uuid is not None:
            self._ask(peers[uuid])
        elif (result := self._check.result()) is not None:
            self._report(result)

    def _can_ask(self, peer: Peer, hosts: Hosts) -> bool:
        is_connected = peer.control is not None or peer.data is not None
        return is_connected and DIAL_BACK in peer.speaks and self._is_elsewhere(peer, hosts)

    def _is_elsewhere(self, peer: Peer, hosts: Hosts) -> bool:
        return is_elsewhere(self._context.me, peer.node, hosts)

    def _ask(self, peer: Peer) -> None:
        check, uuid, name = self._check, peer.node.uuid, peer.node.name
        host = host_of(peer.node.address or peer.reached)

        def came(replies: Replies[DialedBack], missing: list[str]) -> None:
            outcome = _outcome(replies[uuid].value) if uuid in replies and not replies[uuid].code else None
            answer = None if outcome is None else Answer(name, host, outcome)
            check.on_answer(uuid, answer, self._context.clock.now)
            self._wake()

        ask = AskDialBack(address=check.address)
        self._questions.ask_all([peer], ask, DialedBack, came, WITHIN, by=self._send)

    def _send(self, peer: Peer, call: Call) -> None:
        self._context.out.send(peer.control or peer.data, call)

    def _report(self, found: Reachability) -> None:
        """Keep the result, and report when the address becomes unreachable or reachable again."""
        was, self._context.reachable = self._context.reachable, found
        if found.code == NO and was.code != NO:
            self._context.event("unreachable", f"{found.text}. {found.hint}", level="warning")
        elif was.code == NO and found.code != NO:
            self._context.event("reachable", f"{self._check.address}: {found.text}")


def _outcome(value: DialedBack) -> Outcome | None:
    """Return the outcome in an answer, or `None` for an unknown one."""
    return Outcome(value.outcome) if value.outcome in {str(each) for each in Outcome} else None


class DialBackParts(FeatureParts):
    """The components that ask for a dial, and that dial."""

    def __init__(self, k: Parts) -> None:
        super().__init__(
            DialingBack(k.context, k.dialler), CheckingAddress(k.context, k.neighbours, k.questions)
        )
