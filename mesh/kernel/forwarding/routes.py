"""A dry run of routing, hop by hop: which route would a message take?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from msgspec.structs import replace

from mesh.errors import LocalError
from mesh.kernel.context.component import Component
from mesh.kernel.context.incoming_call import IncomingCall, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.pages import fitting
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.peer_calls import PeerCalls, PeerReply, Replies
from mesh.mapping.decision import Decision, Kind, wait
from mesh.mapping.mapping import Mapping
from mesh.names import CLIENT, SessionName, check_asked, kind_of
from mesh.reasons.reason import reason
from mesh.reasons.what import TOPIC, What
from mesh.remote_names import WAY, is_site, split
from mesh.wire.calls import AskRoute
from mesh.wire.replies import Reason, Step, Steps

OnSteps = Callable[[list[Step]], None]
TRACE = "trace"  # a stream without a publisher
STEPS = 128  # steps that fit into a reply
LONGEST = 1200  # characters in each field of a step, at most


class Routes(Component):
    """Answers route questions: each node returns its own step, and asks the next one."""

    def __init__(self, context: NodeContext, mapping: Mapping, nodes: Nodes, questions: PeerCalls) -> None:
        self._context = context
        self._mapping = mapping
        self._nodes = nodes
        self._questions = questions

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskRoute, self._on_route),)

    peer_verbs = client_verbs

    def explain(self, what: What) -> Iterator[Reason]:
        if what.kind == TOPIC and what.is_start:
            for claim in self._mapping.claims(what.text, what.domain):
                is_me = claim.node == self._context.me.name
                state = "this node" if is_me else self._nodes.standing(claim.node).says
                yield reason("CANDIDATE", node=claim.node, by=claim.by, stratum=claim.stratum, state=state)

    def _on_route(self, asked: IncomingCall[AskRoute]) -> None:
        self.trace(asked.ask, lambda steps: asked.reply(Steps(steps=steps)))

    def trace(self, ask: AskRoute, then: OnSteps) -> None:
        """Call `then` with the steps of the route, usually later.

        Raises: LocalError for invalid names, and for a start that cannot be reached.
        """
        if ask.start and ask.start != self._context.me.name:
            if not self._nodes.is_alive(ask.start):
                text = f"Node {ask.start} cannot be reached."
                raise LocalError(text, hint="See `mesh ls`.", code="UNKNOWN_NODE")
            self._pass_on([ask.start], ask, [], [], then)
            return
        site = self._site(ask.to)
        if ask.to and not site:
            SessionName.parse(ask.to)
        self._questions.when_settled(
            lambda: self._context.face.next_hops[WAY].when_known(site, lambda: self._decided(ask, then))
        )

    def _decided(self, ask: AskRoute, then: OnSteps) -> None:
        visited = ask.visited[:STEPS]
        decision = self._decide(ask, visited)
        me = self._context.me.name
        hops = [hop for hop in decision.hops if hop] if decision.kind is not Kind.REFUSE else []
        step = self._step(decision, ", ".join(hops) or decision.node)
        further = replace(ask, start="", visited=[*visited, me], copy=decision.to_master)
        away = [hop for hop in hops if not self._nodes.is_alive(hop)]
        alive = [hop for hop in hops if hop not in away]
        if decision.kind is Kind.WAIT or not hops or is_site(hops[0]):
            then([step])
            return
        waits = [self._step(wait(decision.why, hop), hop) for hop in away]
        self._pass_on(alive, further, [step], waits, then)

    def _step(self, decision: Decision, whom: str) -> Step:
        kind, code, state = decision.kind, decision.code, ""
        if kind is Kind.WAIT and decision.node and not is_site(decision.node):
            standing = self._nodes.standing(decision.node)
            code, state = standing.code, standing.says
        me = self._context.me.name
        return Step(node=me, decision=kind.value, next=whom, why=decision.why, code=code, state=state)

    def _decide(self, ask: AskRoute, visited: list[str]) -> Decision:
        if not ask.to:
            return self._mapping.decide(ask.key, ask.domain, self._nodes, visited, TRACE, ask.copy)
        if site := self._site(ask.to):
            return self._context.face.next_hops[WAY].decide(site, False)
        to = SessionName.parse(ask.to)
        return self._mapping.address(to, ask.domain, self._nodes, visited, of=TRACE)

    def _site(self, to: str) -> str:
        """Return the other site of an address; "" for this site. Raises: BadName."""
        site = split(to)[0]
        if site in ("", self._context.settings.site.name):
            return ""
        if kind_of(to) == CLIENT:
            SessionName.parse(to)
        else:
            check_asked(to)
        return site

    def _pass_on(
        self, nodes: Sequence[str], ask: AskRoute, steps: list[Step], waits: list[Step], then: OnSteps
    ) -> None:
        """Ask each of the nodes, and call `then` with their steps between `steps` and `waits`."""
        peers = {node: peer for node in nodes if (peer := self._nodes.named(node)) is not None}

        def came(replies: Replies[Steps], missing: list[str]) -> None:
            told = [_steps(node, replies.get(peer.node.uuid)) for node, peer in peers.items()]
            then(fitting([*steps, *chain.from_iterable(told), *waits], STEPS))

        self._questions.ask_all(peers.values(), ask, Steps, came)


def _steps(node: str, told: PeerReply[Steps] | None) -> list[Step]:
    """Return the steps that a node reports for itself and the nodes after it, with truncated fields.

    If the node did not answer or refused, return one step with the reason.
    """
    if told is None or told.code:
        why = "no answer" if told is None else f"no route ({told.code[:LONGEST]})"
        return [Step(node=node, decision="unknown", why=why)]
    return [
        Step(
            node=step.node[:LONGEST],
            decision=step.decision[:LONGEST],
            next=step.next[:LONGEST],
            why=step.why[:LONGEST],
            code=step.code[:LONGEST],
            state=step.state[:LONGEST],
        )
        for step in told.value.steps[:STEPS]
    ]
