"""Decides whether a peer may bring a message of the sender that the message names.

A node that is logged in can write any sender into what it brings: a client of another node, a client of the
receiver, the mesh, a session of another site. Honest peers bring messages of:

| sender | brought by |
| --- | --- |
| a client of the peer, or the peer itself | the peer |
| a client of a third node | a master of the topic, a backup of it, or a node between a master and this one |
| a client of this node | the same nodes, if messages of that topic leave this node |
| a client of another site | a gateway of this site, and the same nodes |
| the mesh, at a third node | the same nodes, in topics of the mesh only |
| a client that erased a topic | each master, by the nodes through which the erase came |
"""

# Law 1: a peer brings messages of its own senders: of its clients, and what the node publishes itself.
# Law 2: out of its own log it brings those of others if rules here name it for the topic; out of the log of
#        another master, if rules name it at all: a pattern is asked of all nodes. Rules that count, that will
#        soon, and that did earlier in this process are alike: what was taken by them still comes.
# Law 3: a client of this node is named only where rules let messages of that topic leave it.
# Law 4: the mesh is named in its own topics only.
# Law 5: without such a rule, senders of another site are of a site in the settings.
# Law 6: the end of a topic names the client that erased it: each master reports that.
# Law 7: in doubt a message is taken, and an event reports it: the rules of this node may be older than those
#        of its sender, whose state names the peer as its way. So it is after a start, from peers met before.

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from itertools import pairwise

from mesh.core.asking.demand import Demand
from mesh.core.desk.desk import Desk
from mesh.core.peers.peer import Peer
from mesh.core.states.cameby import is_way
from mesh.mapping.mapping import Mapping
from mesh.patterns import SYSTEM
from mesh.sites.hops import is_foreign, site_of
from mesh.wire.envelope import ERASED, Envelope

MOST = 10_000  # topics of one peer of which it is remembered that a rule names it
NAMES = 8  # names that one peer had in this process
SAY_AGAIN = 600.0  # s until a peer is reported again
NO_KEYS: frozenset[str] = frozenset()


class Origin(Enum):
    """The place of a sender, as its name says."""

    PEER = "peer"  # the one that brings it
    HERE = "here"
    THIRD = "third"  # another node of this mesh, or nothing that is a name
    SITE = "site"


def home(node: str) -> str:
    """Return how names of the senders of that node begin."""
    return f"/node/{node}/"


def is_home(sender: str, homes: tuple[str, ...]) -> bool:
    """Return whether the sender is one of a node whose senders begin like that."""
    return bool(homes) and sender.startswith(homes)


def origin(sender: str, here: str, homes: tuple[str, ...]) -> Origin:
    """Return where a sender is, for the node `here` and a peer whose senders begin like that."""
    if is_home(sender, homes):
        return Origin.PEER
    if is_foreign(sender):
        return Origin.SITE
    return Origin.HERE if sender.startswith(home(here)) else Origin.THIRD


def is_end(envelope: Envelope) -> bool:
    """Return whether it says that a topic was erased, and nothing else."""
    return bool(envelope.flags & ERASED) and envelope.count == 1 and not envelope.body


def is_of_mesh(sender: str) -> bool:
    """Return whether it is what a node publishes itself, or nobody."""
    return not sender or f"client/{SYSTEM}" in sender


def is_named(node: str, mappings: Sequence[Mapping], key: str, domain: str) -> bool:
    """Return whether any of these rules name a node for a topic."""
    return any(node in mapping.named("exact", key, domain) for mapping in mappings)


def may_leave(here: str, mappings: Sequence[Mapping], key: str, domain: str) -> bool:
    """Return whether any of these rules let messages of this node's clients go to another node."""
    return any(mapping.named("exact", key, domain) - {here} for mapping in mappings)


class Origins:
    """The check of senders. `has_grace(peer)`: may it still bring what an earlier process of this node asked
    for? `is_gateway(peer, site)`: may it bring messages of that site? `ways_of(node)`: the ways that the
    state of that node names."""

    def __init__(
        self,
        desk: Desk,
        demand: Demand,
        has_grace: Callable[[Peer], bool],
        is_gateway: Callable[[Peer, str], bool],
        ways_of: Callable[[str], Sequence[str]],
    ) -> None:
        self._desk = desk
        self._demand = demand
        self.has_grace = has_grace
        self.is_gateway = is_gateway
        self._ways_of = ways_of

    def logged_in(self, peer: Peer) -> None:
        """Note the name of a peer. What it took under an earlier name is its own, too."""
        x, own = peer.exchange, home(peer.node.name)
        x.homes = (*[each for each in x.homes if each != own][1 - NAMES :], own)
        x.ruled.clear()

    def ruled(self, peer: Peer) -> None:
        """Other rules count."""
        peer.exchange.ruled.clear()

    def may_bring(self, peer: Peer, envelope: Envelope, master: bytes) -> bool:
        """Return whether the peer may bring it out of the log of that master."""
        place = origin(envelope.sender, self._desk.me.name, peer.exchange.homes)
        if place is Origin.PEER or self.has_grace(peer):
            return True
        if is_end(envelope):
            nodes, sites = [hop.node for hop in envelope.route], self._desk.settings.accepting
            return is_way(envelope.sender, nodes, peer.node.name, sites)
        if place is Origin.SITE and self.is_gateway(peer, site_of(envelope.sender)):
            return True
        if is_of_mesh(envelope.sender) and not all(key.startswith(SYSTEM) for key in envelope.keys):
            return False
        if place is Origin.HERE and not self._has_left(envelope):
            return False
        if master != peer.node.uuid:
            return peer.node.name in self._demand.ways_ever
        return self._is_ruled(peer, envelope) or self._is_doubtful(peer, envelope)

    def _has_left(self, envelope: Envelope) -> bool:
        """Return whether this node may have sent a message of its client to a master."""
        mappings, here = self._demand.mappings, self._desk.me.name
        return all(may_leave(here, mappings, key, envelope.domain) for key in envelope.keys)

    def _is_ruled(self, peer: Peer, envelope: Envelope) -> bool:
        """Return whether rules name the peer as a master of all its topics, or as a way to one."""
        domain = envelope.domain
        known = peer.exchange.ruled.get(domain, NO_KEYS)
        if known.issuperset(envelope.keys):
            return True
        name, mappings = peer.node.name, self._demand.mappings
        if not all(key in known or is_named(name, mappings, key, domain) for key in envelope.keys):
            return False
        if sum(map(len, peer.exchange.ruled.values())) >= MOST:
            peer.exchange.ruled.clear()
        peer.exchange.ruled.setdefault(domain, set()).update(envelope.keys)
        return True

    def _is_doubtful(self, peer: Peer, envelope: Envelope) -> bool:
        """Return whether each node by which it came names the next one as its way, up to the peer."""
        nodes = list(dict.fromkeys(hop.node for hop in envelope.route))
        nodes = nodes[: nodes.index(peer.node.name) + 1] if peer.node.name in nodes else []
        if not is_way(envelope.sender, nodes, peer.node.name):
            return False
        if not all(way in self._ways_of(node) for node, way in pairwise(nodes)):
            return False
        text = f"{peer.node.name} brings {envelope.keys[0][:80]!r} of {envelope.sender[:80]!r}"
        self._report(peer, f"{text}, which names it as its way, though no rule here does: it is taken")
        return True

    def forged(self, peer: Peer, envelope: Envelope) -> str:
        """Count a message that the peer may not bring, and report it to people; returns what it was."""
        self._desk.count("forged", envelope.count)
        key, sender = envelope.keys[0][:80], envelope.sender[:80] or "the mesh"
        text = f"{peer.node.name} brings {key!r} of {sender!r}, and no rule here makes it the master of that"
        hint = "is its code our own?" if not self._demand.has_ways else "is its code our own, and its rules?"
        self._report(peer, f"{text}: {hint} [FORGED_SENDER]")
        return text

    def _report(self, peer: Peer, text: str) -> None:
        if self._desk.now - peer.forged_told >= SAY_AGAIN:
            peer.forged_told = self._desk.now
            hint = "see `mesh route` here and there" if self._demand.has_ways else ""
            text = f"{text} ({hint})" if hint else text
            self._desk.event("refused", text, peer.node, level="warning")
