"""Explains the state of a message, topic, client or node: gathers the reasons of all reachable nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from msgspec.structs import replace

from mesh.kernel.context.component import Component
from mesh.kernel.context.dispatch_tables import REASONS
from mesh.kernel.context.incoming_call import IncomingCall, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.pages import NAMES, ROWS, fitting
from mesh.kernel.context.settings import CONFIRM
from mesh.kernel.feature import FeatureParts
from mesh.kernel.forwarding.routes import Routes
from mesh.kernel.parts import Parts
from mesh.kernel.presence.presence import Presence
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.kernel.routes.strata import LiveStrata
from mesh.names import ADDRESS
from mesh.reasons import what as kinds
from mesh.reasons.reason import LONGEST
from mesh.reasons.verdict import verdict
from mesh.reasons.what import What
from mesh.remote_names import split
from mesh.wire.calls import AskRoute, AskWhy
from mesh.wire.replies import Reason, Reasons, Step

BEHIND = 200  # reasons of one node and the nodes behind it
VISITED = 1024  # visited nodes in a question
WORD = 64  # characters of a code, package or name


class Explaining(Component):
    """Component with the verb `why`.

    Other nodes have 2 s to reply. An answer names the nodes that did not reply in time.
    """

    def __init__(
        self,
        context: NodeContext,
        nodes: Nodes,
        questions: PeerCalls,
        routes: Routes,
        presence: Presence,
        strata: LiveStrata,
    ) -> None:
        self._context = context
        self._nodes = nodes
        self._questions = questions
        self._routes = routes
        self._presence = presence
        self._strata = strata

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskWhy, self._on_why),)

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskWhy, self._asked_by_node),)

    def _asked_by_node(self, asked: IncomingCall[AskWhy]) -> None:
        """Reply with this node's reasons and, unless all nodes may be linked, those of nodes behind it."""
        ask = asked.ask
        own = self._own(What.of(ask.kind, ask.text, ask.domain))
        if self._nodes.is_open:  # the asking node asks the others itself
            asked.reply(Reasons(reasons=fitting(own, REASONS)))
            return

        def came(found: list[Reason], missing: list[str]) -> None:
            asked.reply(Reasons(reasons=fitting([*own, *found], BEHIND), missing=missing[:NAMES]))

        self._ask_others(ask, came)

    def _on_why(self, asked: IncomingCall[AskWhy]) -> None:
        ask = asked.ask
        named = What.of(ask.kind, ask.text, ask.domain, is_start=True)
        what = _within(named, self._context.settings.site.name)
        self._questions.when_settled(lambda: self._begin(asked, what))

    def _begin(self, asked: IncomingCall[AskWhy], what: What) -> None:
        if what.kind == kinds.ADDRESS:  # needs a watch of the address
            self._presence.when_known((ADDRESS, what.text), lambda: self._gather(asked, what))
        elif what.kind == kinds.TOPIC and what.domain:
            self._strata.when_measured(what.domain, lambda: self._gather(asked, what))
        else:
            self._gather(asked, what)

    def _gather(self, asked: IncomingCall[AskWhy], what: What) -> None:
        own = self._own(what)  # before the other nodes answer

        def came(found: list[Reason], missing: list[str]) -> None:
            self._follow(what, lambda steps: self._reply_reasons(asked, what, [*own, *found], steps, missing))

        self._ask_others(replace(asked.ask, kind=what.kind, text=what.text), came)

    def _ask_others(self, ask: AskWhy, then: Callable[[list[Reason], list[str]], None]) -> None:
        """Ask the unvisited nodes, and call `then` with their reasons and the nodes without valid answers."""
        peers = {peer.node.uuid: peer.node.name for peer in self._nodes.askable(ask.visited)}
        names = {*peers.values(), self._context.me.name}
        further = replace(ask, visited=[*ask.visited, *names][:VISITED])

        def came(replies: Replies[Reasons], missing: list[str]) -> None:
            found = list[Reason]()
            for uuid, told in replies.items():
                if told.code:
                    missing.append(peers[uuid])
                else:
                    missing += [name[:WORD] for name in told.value.missing[:NAMES]]
                    found += _said(peers[uuid], told.value.reasons, names)
            then(found, missing)

        asked = [peer for peer in self._nodes.askable(ask.visited) if peer.node.uuid in peers]
        self._questions.ask_all(asked, further, Reasons, came, min(CONFIRM, ask.within))

    def _own(self, what: What) -> list[Reason]:
        me = self._context.me.name
        return [replace(each, node=me) for each in self._context.face.explain(what)]

    def _follow(self, what: What, then: Callable[[Sequence[Step]], None]) -> None:
        """Call `then` with the route of a message if `what` is a topic, else with no steps."""
        if what.kind == kinds.TOPIC:
            self._routes.trace(AskRoute(key=what.text, domain=what.domain), then)
        else:
            then(())

    def _reply_reasons(
        self,
        asked: IncomingCall[AskWhy],
        what: What,
        found: Sequence[Reason],
        steps: Sequence[Step],
        missing: Sequence[str],
    ) -> None:
        told = verdict(what, self._context.me.name, found, steps, missing)
        asked.reply(Reasons(reasons=fitting(told, ROWS), missing=sorted(set(missing))[:NAMES]))


def _within(what: What, here: str) -> What:
    """Return the question without the name of this site, or a question about the other site that it names."""
    site, name = split(what.text) if what.kind in (kinds.ADDRESS, kinds.CLIENT) else ("", what.text)
    if site in ("", here):
        return What(what.kind, name, what.domain, what.is_start)
    return What(kinds.SITE, site, what.domain, what.is_start, who=what.text)


def _said(node: str, reasons: Sequence[Reason], asked: Collection[str]) -> list[Reason]:
    """Return the reasons of a node and of the nodes behind it.

    A reason from a node in `asked` is attributed to `node` instead: nodes in `asked` answer for themselves.
    """
    return [
        Reason(
            node=each.node[:WORD] if each.node and each.node not in asked else node,
            room=each.room[:WORD],
            code=each.code[:WORD],
            rank=each.rank[:WORD],
            says=each.says[:LONGEST],
            hint=each.hint[:LONGEST],
            about=[name[:WORD] for name in each.about[:REASONS]],
        )
        for each in reasons[:BEHIND]
    ]


def why_parts(k: Parts) -> FeatureParts:
    return FeatureParts(Explaining(k.context, k.nodes, k.questions, k.routes, k.presence, k.strata))
