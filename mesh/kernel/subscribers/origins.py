"""Decides whether a peer may send items with the senders that they name.

A logged-in node can write any sender into its items: a client of another node or of the receiver, the mesh,
or a session of another site. An honest peer sends items with these senders:

| sender | from the peer's own log, if |
| --- | --- |
| a client of the peer, or the peer itself | always |
| a client of a third node | that node forwards to the peer, directly or through others, by its rules |
| a client of the receiver | the receiver's rules let messages of that topic leave it |
| a client of another site | the site is in the settings, and a gateway forwards to the peer, or is the peer |
| the mesh at a third node | never: each node publishes such messages itself |
| a client that erased a topic | the erase came from its node to the peer |
| a client that visits a node | its certificate names a node on the route |
"""

# Law 1: an honest item is never refused. An item is accepted unless this node knows a contradiction.
# Law 2: rules that name the peer for the topic explain any sender but one of Law 3. All rules of this process
#        count, even earlier ones and the next ones: messages accepted by them may still be owed.
# Law 3: a client of this node is the sender only if rules let messages of that topic leave it.
# Law 4: otherwise the route of the item must lead from the sender's node to the peer. If a node on the route
#        has not declared the next one as a next hop during this process, the item is accepted and reported.
# Law 5: items of another master are checked by Laws 3 and 6 only. Rules here name the peer that relays them.
# Law 6: the mesh is the sender in its own topics only.
# Law 7: for a minute after its first login, a peer that an earlier process of this node met may send any
#        item: the rules may have changed.

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from itertools import groupby, pairwise

from mesh.discovery.state import WAYS
from mesh.hops import inside
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.peer import Peer
from mesh.kernel.peers.visit_proofs import proof_of_route
from mesh.kernel.states.cameby import is_way
from mesh.kernel.states.route_proofs import RouteProofs
from mesh.mapping.mapping import Mapping
from mesh.mapping.rules import Rule
from mesh.patterns import SYSTEM
from mesh.wire.envelope import ERASED, Envelope

EVER = 64  # sets of rules that are remembered
NAMES = 8  # names of one peer that are remembered
MOST = 10_000  # topics with a remembered result, for all peers
NODES = 4096  # nodes with remembered next hops
NO_KEYS: frozenset[str] = frozenset()

TopicTest = Callable[[str, Iterable[Mapping], str, str], bool]


class Verdict(Enum):
    """The result of a check."""

    TAKE = "take"
    FORGED = "forged"
    DOUBT = "doubt"  # a next hop on the route is undeclared


def home(node: str) -> str:
    """Return the prefix of the names of all senders at a node."""
    return f"/node/{node}/"


def is_end(envelope: Envelope) -> bool:
    """Return whether the envelope only reports the erasure of a topic."""
    return bool(envelope.flags & ERASED) and envelope.count == 1 and not envelope.body


def is_of_mesh(sender: str) -> bool:
    """Return whether the sender is a node itself, or is missing."""
    return not sender or f"client/{SYSTEM}" in sender


def is_named(node: str, mappings: Iterable[Mapping], key: str, domain: str) -> bool:
    """Return whether any rule of `mappings` names the node for a topic."""
    return any(node in mapping.named_nodes("exact", key, domain) for mapping in mappings)


def may_leave(here: str, mappings: Iterable[Mapping], key: str, domain: str) -> bool:
    """Return whether any rule of `mappings` names a node other than `here` for a topic."""
    return any(mapping.named_nodes("exact", key, domain) - {here} for mapping in mappings)


class Origins:
    """Checks whether the senders of items are plausible, with the rules and next hops known so far.

    `has_grace(peer)` returns whether the peer may still send items that an earlier process requested.
    `named` finds a node by its name.
    """

    def __init__(
        self,
        context: NodeContext,
        route_proofs: RouteProofs,
        mapping: Mapping,
        has_grace: Callable[[Peer], bool],
        named: Callable[[str], Peer | None],
    ) -> None:
        self._context = context
        self._route_proofs = route_proofs
        self._mapping = mapping
        self._has_grace = has_grace
        self._named = named
        self._here = home(context.me.name)
        self._ever: tuple[Mapping, ...] = ()  # latest first
        self._ways: frozenset[str] = frozenset()  # nodes that any of these rules name
        # (peer, domain) -> keys for which rules name it; with this node: keys that may leave it
        self._true: dict[tuple[str, str], set[str]] = {}
        self._declared: dict[str, dict[str, None]] = {}  # node -> next hops in all its states

    # --- known names, rules and hops --------------------------------------------------------------------

    def logged_in(self, peer: Peer) -> None:
        """Record the name of a peer.

        The peer may also send the messages that it accepted under earlier names.
        """
        x, own = peer.exchange, home(peer.node.name)
        x.homes = (*[each for each in x.homes if each != own][1 - NAMES :], own)

    def ruled(self, following: tuple[Rule, ...]) -> None:
        """Record the rules in force, and the rules that follow them."""
        self._note(self._mapping.rules)
        self._note(following)

    def _note(self, rules: tuple[Rule, ...]) -> None:
        if self._ever and self._ever[0].rules is rules:
            return
        found = next((each for each in self._ever if each.rules == rules), None)
        found = found or Mapping(self._mapping.me, rules, self._mapping.scope)
        self._ever = (found, *[each for each in self._ever if each is not found])[:EVER]
        self._ways = frozenset(rule.node for each in self._ever for rule in each.rules)

    def declared(self, node: str, ways: Sequence[str]) -> None:
        """Record the next hops that a node declares in its state."""
        if ways:
            self._declared[node] = known = {**self._declared.pop(node, {}), **dict.fromkeys(ways)}
            for way in list(known)[: -4 * WAYS]:
                del known[way]
            if len(self._declared) > NODES:
                del self._declared[next(iter(self._declared))]

    # --- the check --------------------------------------------------------------------------------------

    def is_explained(self, peer: Peer, envelope: Envelope) -> bool:
        """Return whether an earlier check found that rules name the peer for all topics of the envelope.

        An envelope of the mesh is never explained. The same rules allow messages of this node's clients to be
        sent to the peer. The check must be cheap: every item whose sender is not at the peer is checked.
        """
        known = self._true.get((peer.node.name, envelope.domain), NO_KEYS)
        return known.issuperset(envelope.keys) and not is_of_mesh(envelope.sender)

    def check_origin(self, peer: Peer, envelope: Envelope, master: bytes) -> Verdict:
        """Return the verdict on an envelope that the peer sends from the log of `master`."""
        sender, homes = envelope.sender, (*peer.exchange.homes, home(peer.node.name))
        if sender.startswith(homes) or self._has_grace(peer):
            return Verdict.TAKE
        if self._context.visits.vouch(envelope.stream, sender, peer.node.uuid):
            return Verdict.TAKE
        self._note(self._mapping.rules)
        if self._is_impossible(envelope):
            return Verdict.FORGED
        if self._is_ruled(peer, envelope) or master != peer.node.uuid:
            return Verdict.TAKE
        # Honest routes can name a node twice in a row.
        nodes = [node for node, _ in groupby(hop.node for hop in inside(envelope.route))]
        if not nodes or not home(nodes[-1]).startswith(homes):
            return Verdict.FORGED
        if not (
            is_way(sender, nodes, nodes[-1], self._context.settings.site.accepting)
            or proof_of_route(self._context.visits, self._named, envelope.stream, sender, nodes) is not None
        ):
            return Verdict.FORGED
        return Verdict.TAKE if is_end(envelope) or self._is_declared(peer, nodes) else Verdict.DOUBT

    def _is_impossible(self, envelope: Envelope) -> bool:
        """Return whether no other node could honestly send the envelope, whatever its route."""
        if is_of_mesh(envelope.sender):
            return not all(key.startswith(SYSTEM) for key in envelope.keys)
        if is_end(envelope) or not envelope.sender.startswith(self._here):
            return False
        return not self._are_all(may_leave, self._context.me.name, envelope)

    def _is_ruled(self, peer: Peer, envelope: Envelope) -> bool:
        return peer.node.name in self._ways and self._are_all(is_named, peer.node.name, envelope)

    def _are_all(self, test: TopicTest, node: str, envelope: Envelope) -> bool:
        """Return whether `test` is true for all topics of the envelope.

        A positive result is remembered, as rules stay valid until the process ends.
        """
        domain = envelope.domain
        known = self._true.get((node, domain), NO_KEYS)
        if known.issuperset(envelope.keys):
            return True
        if not all(key in known or test(node, self._ever, key, domain) for key in envelope.keys):
            return False
        if sum(map(len, self._true.values())) >= MOST:
            self._true.clear()
        self._true.setdefault((node, domain), set()).update(envelope.keys)
        return True

    def _is_declared(self, peer: Peer, nodes: Sequence[str]) -> bool:
        """Return whether each node on the route is known to forward to the next one."""
        if self._context.settings.keyring is not None and self._route_proofs.believes(peer, tuple(nodes)):
            return True
        return all(self._has_way(node, way) for node, way in pairwise(nodes))

    def _has_way(self, node: str, way: str) -> bool:
        if node == self._context.me.name:
            return way in self._ways
        return node in self._declared and way in self._declared[node]
