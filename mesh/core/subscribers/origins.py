"""Decides whether a peer may bring a message of the sender that the message names.

A node that is logged in can write any sender into what it brings: a client of another node, a client of the
receiver, the mesh, a session of another site.
"""

# Law 1: a peer brings messages of its own senders: of its clients, and what the node publishes itself.
# Law 2: it brings those of other senders only for topics of which a rule here makes it a master or a way.
# Law 3: without such a rule, those of another site come only from a gateway, and only of known sites.
# Law 4: the end of a topic names the client that erased it: each master reports that, with the nodes by
#        which it came.
# Law 5: what a master took by an earlier rule still comes, since nothing is lost when rules change: earlier
#        rules of this process count, and after its start what is persistent, from peers that it met before.

from __future__ import annotations

from collections.abc import Callable

from mesh.core.asking.demand import Demand
from mesh.core.desk.desk import Desk
from mesh.core.peers.peer import Peer
from mesh.core.states.cameby import is_way
from mesh.sites.hops import is_foreign, site_of
from mesh.wire.envelope import ERASED, Envelope

MOST = 10_000  # topics of one peer of which it is remembered that a rule names it
NAMES = 8  # names that one peer had in this process
SAY_AGAIN = 600.0  # s until a peer is reported again


def home(node: str) -> str:
    """Return how names of the senders of that node begin."""
    return f"/node/{node}/"


def is_home(sender: str, homes: tuple[str, ...]) -> bool:
    """Return whether the sender is one of a node whose senders begin like that."""
    return bool(homes) and sender.startswith(homes)


def is_end(envelope: Envelope) -> bool:
    """Return whether it says that a topic was erased, and nothing else."""
    return bool(envelope.flags & ERASED) and envelope.count == 1 and not envelope.body


class Origins:
    """The check of senders. `has_grace(peer)`: may it still bring what an earlier process of this node asked
    for? `is_gateway(peer, site)`: does it bring messages of that site?"""

    def __init__(
        self,
        desk: Desk,
        demand: Demand,
        has_grace: Callable[[Peer], bool],
        is_gateway: Callable[[Peer, str], bool],
    ) -> None:
        self._desk = desk
        self._demand = demand
        self.has_grace = has_grace
        self.is_gateway = is_gateway

    def logged_in(self, peer: Peer) -> None:
        """Note the name of a peer. What it took under an earlier name is its own, too."""
        x, own = peer.exchange, home(peer.node.name)
        x.homes = (*[each for each in x.homes if each != own][1 - NAMES :], own)
        x.ruled.clear()

    def ruled(self, peer: Peer) -> None:
        """Other rules count."""
        peer.exchange.ruled.clear()

    def may_bring(self, peer: Peer, envelope: Envelope) -> bool:
        """Return whether the peer may bring it."""
        if is_home(envelope.sender, peer.exchange.homes) or self._is_ruled(peer, envelope):
            return True
        if self.has_grace(peer):
            return True
        if is_end(envelope):
            return is_way(envelope.sender, [hop.node for hop in envelope.route], peer.node.name)
        return is_foreign(envelope.sender) and self.is_gateway(peer, site_of(envelope.sender))

    def _is_ruled(self, peer: Peer, envelope: Envelope) -> bool:
        """Return whether rules name the peer for all topics of it."""
        known = peer.exchange.ruled.setdefault(envelope.domain, set())
        if known.issuperset(envelope.keys):
            return True
        names = self._demand.names
        if not all(key in known or names(peer.node.name, key, envelope.domain) for key in envelope.keys):
            return False
        if sum(map(len, peer.exchange.ruled.values())) >= MOST:
            peer.exchange.ruled.clear()
        peer.exchange.ruled.setdefault(envelope.domain, set()).update(envelope.keys)
        return True

    def forged(self, peer: Peer, envelope: Envelope) -> str:
        """Count a message that the peer may not bring, and report it to people; returns what it was."""
        self._desk.count("forged", envelope.count)
        key, sender = envelope.keys[0][:80], envelope.sender[:80] or "the mesh"
        text = f"{peer.node.name} brings {key!r} of {sender!r}, and no rule here makes it the master of that"
        if self._desk.now - peer.forged_told >= SAY_AGAIN:
            peer.forged_told = self._desk.now
            hint = "see `mesh route` here and there" if self._demand.has_ways else "is its code our own?"
            self._desk.event("refused", f"{text}: {hint} [FORGED_SENDER]", peer.node, level="warning")
        return text
