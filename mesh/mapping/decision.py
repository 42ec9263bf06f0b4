"""The interface through which the mapping views the nodes, and the decisions of the mapping."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

ASKING = "ASKING"  # this node asks others for a route
CHANGING = "RULES_CHANGE"  # a routing loop that is not final yet


class NodesView(Protocol):
    """The view of other nodes at this moment."""

    def is_known(self, node: str) -> bool:
        """Return whether the node may be linked, or is linked now."""

    def is_alive(self, node: str) -> bool:
        """Return whether the node is reachable now."""

    def is_settled(self) -> bool:
        """Return whether this node has had time to meet all living nodes since its start."""

    def count_alive(self) -> int:
        """Return the number of nodes that are reachable now, this node included."""

    def way_to(self, node: str) -> str | None:
        """Return the neighbor through which an unknown node can be reached, or None if none is known."""

    def choose(self, nodes: Sequence[str], of: Hashable, domain: str) -> str:
        """Return one of several equally good nodes for the domain.

        The same `of` (a publisher's stream, a query) gets the same node while that is among `nodes`. With
        None each call chooses anew.
        """


class Use(Enum):
    """Purpose for which the masters of a query are requested."""

    GET = "get"  # one of them is queried
    SUBSCRIBE = "subscribe"  # all are subscribed to
    ERASE = "erase"  # all are notified, even by a master


class Kind(Enum):
    """Decision on a message.

    The value is the text shown to users.
    """

    HERE = "here"
    FORWARD = "forward"
    WAIT = "wait"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision on a message.

    `node` is the next hop, or the awaited node ("" = unknown). `code` belongs to a refusal, or to a short
    wait: `ASKING` or `CHANGING`. With `is_final` a refusal is final even for messages that were sent before.
    `copies` are the masters if each of several receives a copy; with HERE this node is left out, and FORWARD
    means that at least one is reachable. With `to_master` the next hops are masters. With `is_shared` other
    nodes may be masters, too. `stands_for` are the unreachable masters that this node replaces.
    """

    kind: Kind
    why: str
    node: str = ""
    code: str = ""
    copies: tuple[str, ...] = ()
    to_master: bool = False
    is_shared: bool = False
    stands_for: tuple[str, ...] = ()
    is_final: bool = False

    @property
    def hops(self) -> tuple[str, ...]:
        """The next hops, or the awaited nodes."""
        return self.copies or (self.node,)


def here(why: str, copies: tuple[str, ...] = (), is_shared: bool = False) -> Decision:
    """Return the decision that this node is the master, with other masters in `copies`."""
    return Decision(Kind.HERE, why, copies=copies, to_master=bool(copies), is_shared=is_shared)


def forward(why: str, node: str, copies: tuple[str, ...] = (), to_master: bool = False) -> Decision:
    return Decision(Kind.FORWARD, why, node, copies=copies, to_master=to_master)


def wait(
    why: str, node: str = "", copies: tuple[str, ...] = (), to_master: bool = False, code: str = ""
) -> Decision:
    """Return the decision to keep the message until `node` is reachable; "" if no such node is known."""
    return Decision(Kind.WAIT, why, node, code, copies, to_master)


def refuse(why: str, node: str, code: str, is_final: bool = False) -> Decision:
    return Decision(Kind.REFUSE, why, node, code, is_final=is_final)


@dataclass(frozen=True, slots=True)
class Claim:
    """A node's claim on a message by a rule.

    With `is_backup` the claim counts only while no other claim leads to a reachable node. With
    `dirty_read` subscribers receive messages before the master accepts them. The terms of the cache are in s,
    0 without one. As a master the node keeps the latest `history` messages of a topic, and accepts messages
    only while it reaches `min_nodes` nodes, itself included.
    """

    node: str
    stratum: int
    refid: str
    by: str
    is_backup: bool = False
    dirty_read: bool = False
    cache_ttl: float = 0.0
    cache_linger: float = 0.0
    history: int = 1
    min_nodes: int = 1


@dataclass(frozen=True, slots=True)
class Sources:
    """The nodes that receive a query; with `everyone`, all other nodes receive it, too.

    `masters` are the hops that are masters. `away` are the unreachable hops, without which the result is
    incomplete.
    """

    hops: tuple[str, ...] = ()
    everyone: bool = False
    masters: tuple[str, ...] = ()
    away: tuple[str, ...] = ()

    @classmethod
    def of(cls, decisions: Sequence[Decision], everyone: bool) -> Sources:
        """Return the union of the decisions on the parts of a query."""
        hops = _hops(decisions)
        masters = _hops(decision for decision in decisions if decision.to_master)
        away = _hops(decision for decision in decisions if decision.kind is Kind.WAIT)
        return cls(
            tuple(hops), everyone, tuple(h for h in hops if h in masters), tuple(h for h in hops if h in away)
        )


def _hops(decisions: Iterable[Decision]) -> dict[str, None]:
    return dict.fromkeys(hop for decision in decisions for hop in decision.hops if hop)
