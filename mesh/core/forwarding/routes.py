"""Which way would a message go? A dry run, hop by hop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from mesh.core.desk.desk import Desk
from mesh.core.desk.pages import fitting
from mesh.core.ways.nodes import Nodes
from mesh.core.ways.questions import Questions, Replies, Told
from mesh.errors import LocalError
from mesh.mapping.decision import Decision, Kind
from mesh.mapping.mapping import Mapping
from mesh.names import SessionName

Steps = list[dict[str, str]]
TRACE = "trace"  # a stream that nobody publishes
STEPS = 128  # of one way, also through several masters: so many fit into a reply
LONGEST = 1200  # letters of each word in a step


class Routes:
    """Each node says what it would do, and asks the next."""

    def __init__(self, desk: Desk, mapping: Mapping, nodes: Nodes, questions: Questions) -> None:
        self._desk = desk
        self._mapping = mapping
        self._nodes = nodes
        self._questions = questions

    def trace(self, said: dict[str, Any], then: Callable[[Steps], None]) -> None:
        """`said` has key, domain, to, from and visited. LocalError for names that cannot be."""
        start = str(said.get("from") or "")
        if start and start != self._desk.me.name:
            if not self._nodes.is_alive(start):
                text = f"no node {start} can be asked."
                raise LocalError(text, hint="See `mesh ls`.", code="UNKNOWN_NODE")
            self._pass_on([start], {**said, "from": start}, [], [], then)
            return
        self._questions.when_settled(lambda: self._decided(said, then))

    def _decided(self, said: dict[str, Any], then: Callable[[Steps], None]) -> None:
        visited = [str(name) for name in v[:STEPS]] if isinstance(v := said.get("visited"), list) else []
        decision = self._decide(said, visited)
        me = self._desk.me.name
        hops = [hop for hop in decision.hops if hop] if decision.kind is not Kind.REFUSE else []
        step = {
            "node": me,
            "decision": decision.kind.value,
            "next": ", ".join(hops) or decision.node,
            "why": decision.why,
        }
        further = {**said, "from": "", "visited": [*visited, me], "copy": decision.to_master}
        away = [hop for hop in hops if not self._nodes.is_alive(hop)]
        alive = [hop for hop in hops if hop not in away]
        if decision.kind is Kind.WAIT or not hops:
            then([step])
            return
        waits = [{"node": me, "decision": "wait", "next": hop, "why": decision.why} for hop in away]
        self._pass_on(alive, further, [step], waits, then)

    def _decide(self, said: dict[str, Any], visited: list[str]) -> Decision:
        key, domain, to = (str(said.get(name) or "") for name in ("key", "domain", "to"))
        if not to:
            is_copy = said.get("copy") is True
            return self._mapping.decide(key, domain, self._nodes, visited, TRACE, is_copy)
        return self._mapping.address(SessionName.parse(to), domain, self._nodes, visited, of=TRACE)

    def _pass_on(
        self,
        nodes: Sequence[str],
        said: dict[str, Any],
        steps: Steps,
        waits: Steps,
        then: Callable[[Steps], None],
    ) -> None:
        """What each of them says, between what is said already."""
        peers = {node: peer for node in nodes if (peer := self._nodes.named(node)) is not None}

        def came(replies: Replies, missing: list[str]) -> None:
            told = [_steps(node, replies.get(peer.node.uuid)) for node, peer in peers.items()]
            then(fitting([*steps, *chain.from_iterable(told), *waits], STEPS))

        arguments = {name: value for name, value in said.items() if name != "within"}
        self._questions.ask_all(peers.values(), "route", arguments, came)


def _steps(node: str, told: Told | None) -> Steps:
    steps = told.value.get("steps") if told is not None else None
    if isinstance(steps, list):
        return [_step(step) for step in steps[:STEPS]]
    return [{"node": node, "decision": "unknown", "next": "", "why": "it did not answer"}]


def _step(said: Any) -> dict[str, str]:
    """What another node says it would do."""
    step = said if isinstance(said, dict) else {}
    return {name: str(step.get(name, ""))[:LONGEST] for name in ("node", "decision", "next", "why")}
