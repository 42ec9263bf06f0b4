"""Which way would a message go? A dry run, hop by hop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mesh.core.desk import Desk
from mesh.core.nodes import Nodes
from mesh.core.questions import Questions, Replies
from mesh.errors import LocalError
from mesh.mapping.mapping import Decision, Kind, Mapping
from mesh.names import SessionName

Steps = list[dict[str, str]]


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
            self._pass_on(start, {**said, "from": start}, [], then)
            return
        self._questions.when_settled(lambda: self._decided(said, then))

    def _decided(self, said: dict[str, Any], then: Callable[[Steps], None]) -> None:
        visited = [str(name) for name in v] if isinstance(v := said.get("visited"), list) else []
        decision = self._decide(said, visited)
        me = self._desk.me.name
        step = {"node": me, "decision": decision.kind.value, "next": decision.node, "why": decision.why}
        if decision.kind is Kind.FORWARD:
            self._pass_on(decision.node, {**said, "from": "", "visited": [*visited, me]}, [step], then)
        else:
            then([step])

    def _decide(self, said: dict[str, Any], visited: list[str]) -> Decision:
        key, domain, to = (str(said.get(name) or "") for name in ("key", "domain", "to"))
        if not to:
            return self._mapping.decide(key, domain, self._nodes, visited)
        return self._mapping.address(SessionName.parse(to), domain, self._nodes, visited)

    def _pass_on(self, node: str, said: dict[str, Any], steps: Steps, then: Callable[[Steps], None]) -> None:
        peer = self._nodes.named(node)
        if peer is None or not self._nodes.is_alive(node):
            raise LocalError(f"no node {node} can be asked.", hint="See `mesh ls`.", code="UNKNOWN_NODE")

        def came(replies: Replies, missing: list[str]) -> None:
            further = [told.value.get("steps") for told in replies.values()]
            silent = {"node": node, "decision": "unknown", "next": "", "why": "it did not answer"}
            then(steps + (further[0] if further and isinstance(further[0], list) else [silent]))

        arguments = {name: value for name, value in said.items() if name != "within"}
        self._questions.ask_all([peer], "route", arguments, came)
