"""Rendezvous hashing: spreads many clients over several nodes, in proportion to the weights of the nodes."""

# Law 1: the order depends on the client and the nodes alone, so every node and client computes the same one.
# Law 2: without one of the nodes, the order of the others stays; only the clients of that node move.

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from math import log

_SCALE = 2.0**64


def ranked(stream: bytes, weights: Mapping[bytes, float]) -> list[bytes]:
    """Return the nodes in the order in which the client with that stream id should try them.

    The share of the clients for which a node is the first one is proportional to its weight. Nodes without
    a positive weight are left out.
    """
    scores = {node: _score(stream, node, weight) for node, weight in weights.items() if weight > 0}
    return sorted(scores, key=lambda node: (-scores[node], node))


def _score(stream: bytes, node: bytes, weight: float) -> float:
    digest = blake2b(node, key=stream[:64], digest_size=8).digest()
    uniform = (int.from_bytes(digest) + 1) / (_SCALE + 2)  # above 0 and below 1
    return -weight / log(uniform)
