"""Distributes the messages of an envelope over nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from mesh.features.services.node.strategies import NodeStrategies
from mesh.values import Headers
from mesh.wire.envelope import Envelope
from mesh.wire.properties import decode_properties


@dataclass(frozen=True, slots=True)
class StrategyMessage:
    """A message as a strategy sees it."""

    key: str
    domain: str
    content: bytes
    headers: Headers
    priority: int
    sender: str


def seen(to: str, e: Envelope, index: int) -> StrategyMessage:
    """Return the message at `index` as a strategy sees it; `to` is its address."""
    properties, content = e.message(index)
    said = decode_properties(properties)
    return StrategyMessage(to, "", content, said.headers, said.priority, e.sender)


def dealt(
    strategies: NodeStrategies, to: str, nodes: Mapping[str, int], e: Envelope
) -> Iterator[tuple[range, str]]:
    """Yield ranges of message indices, each with the node that the strategies choose for it."""
    if strategies.reads_message(to):
        chosen = [_one(strategies, to, nodes, e, index) for index in range(e.count)]
        for node, indices in groupby(range(e.count), chosen.__getitem__):
            found = list(indices)
            yield range(found[0], found[-1] + 1), node
        return
    at = 0
    for node, count in strategies.assign(to, nodes, e.count).items():
        yield range(at, at + count), node
        at += count


def _one(strategies: NodeStrategies, to: str, nodes: Mapping[str, int], e: Envelope, index: int) -> str:
    [node] = strategies.assign(to, nodes, 1, partial(seen, to, e, index))
    return node
