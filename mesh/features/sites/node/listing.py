"""Lists the other sites with their members and gateways, without a request that leaves this site."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from mesh.features.sites.node.gateway import Gateways
from mesh.kernel.context.component import Component
from mesh.kernel.context.incoming_call import IncomingCall, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.pages import NAMES, ROWS, fitting, page
from mesh.kernel.context.seams import NamedHere
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.printable import count
from mesh.reasons.near import near
from mesh.reasons.reason import ago, reason
from mesh.reasons.what import SITE, What
from mesh.wire.calls import AskSites
from mesh.wire.replies import Depth, Reason, SiteRow, SiteRows

LONG = 1.0  # s after which waiting messages are reported
STATES = ("up", "down", "unreachable")  # best first; the best of all gateways counts


class Sites(Component):
    """Component that lists all other sites.

    Each gateway reports the sites as it sees them, and each master the messages that it keeps. The node that
    a client asks merges the reports. `waiting(site)` returns how much this node keeps for a site,
    `lacks(site)` how many messages it dropped.
    """

    def __init__(
        self,
        context: NodeContext,
        nodes: Nodes,
        questions: PeerCalls,
        gateways: Gateways,
        waiting: Callable[[str], Iterable[Depth]],
        is_paused: Callable[[str], bool],
        lacks: Callable[[str], int],
    ) -> None:
        self._context = context
        self._nodes = nodes
        self._questions = questions
        self._gateways = gateways
        self._waiting = waiting
        self._is_paused = is_paused
        self._lacks = lacks

    def named_here(self) -> Mapping[str, NamedHere]:
        return {SITE: NamedHere(self._names, self._used_names, self._state)}

    def _names(self) -> Iterator[str]:
        site = self._context.settings.site
        return filter(None, (site.name, *site.ways))

    def _used_names(self) -> Iterator[str]:
        return (site for site in self._context.settings.site.ways if self._gateways.link(site) is not None)

    def _state(self, site: str) -> tuple[str, int] | None:
        """Return (state, number of connected gateways there) of another site that a link here leads to.

        The state of this site itself is "own". A site without a link here has the state "known".
        """
        if site and site == self._context.settings.site.name:
            return "own", 0
        if site not in self._context.settings.site.ways:
            return None
        view, link = self._gateways.views.view(site), self._gateways.link(site)
        return (view.state, len(link.gateways)) if view is not None and link is not None else ("known", 0)

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskSites, self._on_list),)

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskSites, lambda asked: asked.reply(self._own(asked.ask))),)

    def explain(self, what: What) -> Iterator[Reason]:
        if what.kind != SITE:
            return
        site, known = what.text, self._context.settings.site.ways
        view, link = self._gateways.views.view(site), self._gateways.link(site)
        if what.who:
            yield reason("IN_SITE", who=what.who, site=site)
        if known and (depth := _sum(self._waiting(site))).age >= LONG:
            waits, age = count(depth.messages, "message"), ago(depth.age)
            yield reason("SITE_WAITS", site=site, n=waits, bytes=depth.bytes, age=age)
        if site == self._context.settings.site.name:
            yield reason("SITE_OWN", site=site)
        elif site not in known or view is None:
            if what.is_start:
                yield reason("SITE_UNKNOWN", site=site)
            if found := near(site, known):
                yield reason("NEAR_SITE", near=found)
        elif link is not None and link.gateways:
            yield reason("SITE_LINKED", site=site, gateways=link.gateways, n=count(len(view.members), "node"))
        elif view.state == "down":
            yield reason("SITE_STOPPED", site=site, age=ago(self._context.clock.now - view.since))
        elif link is not None:
            state = f"{link.state}: {link.why}" if link.why else link.state
            yield reason("SITE_NOT_LINKED", site=site, state=state)

    def _own(self, ask: AskSites) -> SiteRows:
        rows, after = page(self._context.settings.site.ways, self._row, ask)
        return SiteRows(site=self._context.settings.site.name, sites=rows, next=after)

    def _row(self, site: str) -> SiteRow | None:
        view, link = self._gateways.views.view(site), self._gateways.link(site)
        if view is None:
            return None
        since = self._context.clock.now - view.since if link is not None else None
        names = fitting(view.members, ROWS)
        links = [link] if link is not None else []
        return SiteRow(
            site=site,
            state=view.state,
            since=since,
            count=len(view.members),
            nodes=names,
            links=links,
            waiting=_sum(self._waiting(site)),
            paused=self._is_paused(site),
            lacks=self._lacks(site),
        )

    def _on_list(self, asked: IncomingCall[AskSites]) -> None:
        def came(replies: Replies[SiteRows], missing: list[str]) -> None:
            told = [self._own(asked.ask), *(one.value for one in replies.values() if not one.code)]
            asked.reply(merged(told, asked.ask, missing))

        def ask() -> None:
            # Only gateways reply with rows, and only the gateways know their role.
            peers = self._nodes.askable() if self._context.settings.site.addresses else ()
            self._questions.ask_all(peers, asked.ask, SiteRows, came)

        self._questions.when_settled(ask)


def merged(pages: Sequence[SiteRows], ask: AskSites, missing: Sequence[str]) -> SiteRows:
    """Merge the pages of several nodes, this node's first, up to the last row that all of them cover."""
    rows: dict[str, list[SiteRow]] = {}
    for one in pages:
        for row in one.sites:
            rows.setdefault(row.site, []).append(row)
    end = min((one.next for one in pages if one.next), default="")
    told, after = page([s for s in rows if not end or s <= end], lambda site: _whole(rows[site]), ask)
    return SiteRows(site=pages[0].site, sites=told, next=after or end, missing=list(missing)[:NAMES])


def _whole(rows: Sequence[SiteRow]) -> SiteRow:
    """Merge the rows of one site from several nodes; the best state that a gateway reports counts."""
    seen = [row for row in rows if row.links] or rows
    best = min(seen, key=lambda row: (STATES.index(row.state), -row.count))
    since = max((r.since for r in seen if r.state == best.state and r.since is not None), default=None)
    links = sorted((link for row in rows for link in row.links), key=lambda link: link.node)
    return replace(
        best,
        since=since,
        links=fitting(links, NAMES),
        waiting=_sum(row.waiting for row in rows),
        paused=any(row.paused for row in rows),
        lacks=sum(row.lacks for row in rows),
    )


def _sum(depths: Iterable[Depth]) -> Depth:
    every = list(depths)
    messages, size = sum(each.messages for each in every), sum(each.bytes for each in every)
    return Depth(messages=messages, bytes=size, age=max(each.age for each in every))
