"""The paths through our code that are watched, and their costs."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from mesh.mapping.rules import Rule
from mesh.wire.limits import ENVELOPE_MESSAGES
from tools.costing.clients import Contents, Messages, OneByOne, Posting
from tools.costing.features import SitePath, durable, group
from tools.costing.meter import Bill
from tools.costing.nodes import FULL, NEWS, NodePath, RequestPath
from tools.costing.queues import QueuePath

TRIES = 9  # the cheapest counts, as pings disturb some
assert FULL < ENVELOPE_MESSAGES


class Path(Protocol):
    """A path of envelopes."""

    def bill(self, count: int) -> Bill:
        """Return the bill for an envelope of `count` messages."""


PATHS: dict[str, Callable[[], Path]] = {
    "node, to one subscriber": NodePath,
    "node, to one subscriber, with one rule": lambda: NodePath(rules=(Rule("heron", domains=(NEWS,)),)),
    "node, to four subscribers": lambda: NodePath(subscribers=4),
    "two nodes, to a subscriber at the other": lambda: NodePath(nodes=2),
    "three nodes, to a master two hops away": lambda: NodePath(nodes=3, domain=NEWS),
    "node, persistent": lambda: NodePath(persistent=True),
    "node, 1,000 topics in turn": lambda: NodePath(topics=1000),
    "node, put into a queue": QueuePath,
    "node, put into a queue, taken and acked": lambda: QueuePath(0),
    "two nodes, put into a queue, taken at the other": lambda: QueuePath(1),
    "three nodes, put into a queue, taken at two others": lambda: QueuePath(1, 2),
    "two nodes, a request and its reply": RequestPath,
    "three nodes, to a group with a member at two of them": group,
    "two nodes, to a durable subscription, read at the other": durable,
    "five nodes, from site to site": SitePath,
    "client, posts": Posting,
    "client, takes batches.contents()": Contents,
    "client, takes each message of a batch": Messages,
    "client, takes one message at a time": OneByOne,
}


@dataclass(frozen=True)
class Cost:
    """The cost of a path.

    `figures` has the costs of an envelope and of each message. `functions` has the instructions of each
    function in a full envelope.
    """

    figures: dict[str, dict[str, float]]
    functions: dict[str, int]


def measured(name: str) -> Cost:
    """Return the cost of a path, from the cheapest of TRIES envelopes of each size."""
    was_enabled = gc.isenabled()
    gc.disable()  # calls of the garbage collector do not count
    try:
        path = PATHS[name]()
        one, full = (_usual(path, count) for count in (1, FULL))
    finally:
        if was_enabled:
            gc.enable()
    functions = {function: spent.instructions for function, spent in sorted(full.functions.items())}
    return Cost(_figures(one.total(), full.total()), functions)


def _usual(path: Path, count: int) -> Bill:
    bills = [path.bill(count) for _ in range(TRIES)]
    sums = [bill.total()["instructions"] for bill in bills]
    return bills[sums.index(min(sums))]


def _figures(one: dict[str, int], full: dict[str, int]) -> dict[str, dict[str, float]]:
    """Compute the costs from two envelopes: the slope is a message, the intercept is the envelope."""
    message = {kind: (full[kind] - one[kind]) / (FULL - 1) for kind in one}
    return {
        "envelope": {kind: round(one[kind] - message[kind], 1) for kind in one},
        "message": {kind: round(message[kind], 2) for kind in one},
    }
