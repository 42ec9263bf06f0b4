"""The rate of routing decisions: for known keys, and for keys with new XML, on which XPaths are evaluated."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence

from mesh.mapping.mapping import Mapping
from mesh.mapping.rules import Rule
from tools.benchmarks.loads.figures import median
from tools.benchmarks.pages.report import Report, Row

RULES = tuple(Rule(f"node{i}", xpaths=(f"//STOCK[@place='{i}' and bid > 100]",)) for i in range(10))
SIZE = 300  # bytes of a key's XML, with five elements
REMEMBERED, ASKED = 200_000, 5_000  # decisions per round


class Everybody:
    """A view in which all other nodes are present."""

    def is_known(self, node: str) -> bool:
        return True

    def is_alive(self, node: str) -> bool:
        return True

    def count_alive(self) -> int:
        return 1

    def is_settled(self) -> bool:
        return True

    def way_to(self, node: str) -> str | None:
        return None

    def choose(self, nodes: Sequence[str], of: Hashable, domain: str) -> str:
        return nodes[0]


def measured(rounds: int, advance: Callable[[], None]) -> Report:
    """Measure decisions per second of process CPU time, as medians of the rounds."""
    remembered, asked = [], []
    for turn in range(rounds):
        asked.append(asked_a_second(turn))
        remembered.append(remembered_a_second())
        advance()
    return Report(
        "rules",
        [
            Row("rules, remembered", median(remembered), f"{rounds} rounds of {REMEMBERED:,}"),
            Row("rules, XPath", median(asked), f"{len(RULES)} rules, 5 elements, {SIZE} bytes"),
        ],
    )


def xml(number: int) -> str:
    """Return XML of SIZE bytes that only the last rule matches; it differs for each `number`."""
    head = f"<STOCK place='9' number='{number}'><bid>102</bid><ask>103</ask><note>"
    tail = "</note></STOCK>"
    return head + "x" * (SIZE - len(head) - len(tail)) + tail


def asked_a_second(turn: int) -> float:
    """Return the decisions per CPU second on keys with new XML."""
    mapping, view = Mapping("bilbo", RULES), Everybody()
    documents = [xml(turn * ASKED + number) for number in range(ASKED)]
    began = time.process_time()
    for document in documents:
        decision = mapping.decide("ibm", "", view, xml=document)
    took = time.process_time() - began
    assert decision.node == "node9"
    return ASKED / took


def remembered_a_second() -> float:
    """Return the decisions per CPU second on known keys, as a node makes them for each envelope."""
    mapping, document = Mapping("bilbo", RULES), xml(0)
    known = {(mapping.row("ibm", "", document), ""): mapping.decide("ibm", "", Everybody(), xml=document)}
    row = mapping.row
    began = time.process_time()
    for _ in range(REMEMBERED):
        decision = known[row("ibm", "", document), ""]
    took = time.process_time() - began
    assert decision.node == "node9"
    return REMEMBERED / took
