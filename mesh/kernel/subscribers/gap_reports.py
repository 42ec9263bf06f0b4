"""Relays gaps, which other nodes and sites report, to the subscribers that the gaps concern."""

from __future__ import annotations

from collections.abc import Callable

from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.passing import PassedNodes, mark, mark_of_site, pass_on
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.subscribers.facts import MissedFromSite
from mesh.kernel.subscribers.sessions import Sessions
from mesh.wire.commands import Query

# Law 1: a gap is never passed on to a node that it has passed, as routes may form a loop.
# Law 2: a gap of another site concerns only queries for topics that are accepted from there.


class GapReports:
    """Reports gaps of other nodes and sites to the local subscribers and the peers that they concern."""

    def __init__(self, context: NodeContext, neighbours: Neighbours, sessions: Sessions) -> None:
        self._context = context
        self._neighbours = neighbours
        self._sessions = sessions

    def report_from_peer(self, source: Peer, path: PassedNodes, messages: int) -> None:
        """Pass on a gap that `source` reported, to local subscribers and to peers for which this node relays.

        The nodes on `path`, which the gap has passed, are left out, as routes may form a loop.
        """
        may_miss = self._from_sites(path)
        self._missed_here(messages, may_miss)
        for peer in self._neighbours.peers.values():
            begun = peer.begun if peer is not source else None
            if begun is None or mark(peer.node.uuid) in path:
                continue
            if any(map(may_miss, begun.relayed)):
                pass_on(begun.outlet.passed_on, (*path, mark(source.node.uuid)), messages)

    def _missed_here(self, messages: int, may_miss: Callable[[Query], bool]) -> None:
        for session in self._sessions.by_stream.values():
            for feed in session.feeds.values():
                if any(map(may_miss, feed.queries)):
                    feed.missed(messages)

    def report_from_site(self, fact: MissedFromSite) -> None:
        path = (mark_of_site(fact.neighbour),)
        may_miss = self._from_sites(path)
        self._missed_here(fact.messages, may_miss)
        for peer in self._neighbours.peers.values():
            if peer.begun is not None and any(map(may_miss, peer.begun.feed.queries)):
                pass_on(peer.begun.outlet.passed_on, path, fact.messages)

    def _from_sites(self, path: PassedNodes) -> Callable[[Query], bool]:
        """Return a function that returns whether a gap on that path concerns a query.

        A gap that a gateway reported concerns queries for topics that are accepted from or through the
        neighbor site of the gateway. Any other gap concerns all queries.
        """
        settings = self._context.settings.site
        by = {name for name in settings.ways.values() if path[:1] == (mark_of_site(name),)}
        if not by:
            return lambda query: True
        sites = [
            settings.accepting[s] for s, way in settings.ways.items() if way in by and s in settings.accepting
        ]
        return lambda query: any(site.may_reach(query) for site in sites)
