"""What does the mapping see, and what can it say?"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class NodesView(Protocol):
    """The view of other nodes at this moment: what is known of each name."""

    def is_known(self, node: str) -> bool:
        """May it be linked, or is it linked now?"""

    def is_alive(self, node: str) -> bool:
        """Can it be asked something now?"""

    def is_settled(self) -> bool:
        """Has it had the time to meet all that live?"""

    def way_to(self, node: str) -> str | None:
        """The neighbour through which a node that is not known can be reached, as far as that was asked."""

    def choose(self, nodes: Sequence[str], of: Hashable, domain: str) -> str:
        """One of several that would do as well, for that domain. The same `of` (a publisher's stream, a
        query) gets the same one as long as it is among them; None: whoever's turn it is."""


class Use(Enum):
    """The purposes for which the masters of a query are named."""

    GET = "get"  # one of them is asked
    SUBSCRIBE = "subscribe"  # all are
    ERASE = "erase"  # all are, by a master too


class Kind(Enum):
    """The fates of a message; the value is the word that people read."""

    HERE = "here"
    FORWARD = "forward"
    WAIT = "wait"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision. `node`: where it goes, or for whom it waits ("" = nobody knows); `code` of a refusal,
    or of what is none yet. `copies`: the masters, if there are several, that get one each; with HERE, those
    beside this node. FORWARD then means that some of them can be asked now. `to_master`: whoever gets it next
    is a master. `is_shared`: other nodes may be its masters, too. `stands_for`: the masters, all away, in
    whose place this node takes it.
    """

    kind: Kind
    why: str
    node: str = ""
    code: str = ""
    copies: tuple[str, ...] = ()
    to_master: bool = False
    is_shared: bool = False
    stands_for: tuple[str, ...] = ()

    @property
    def hops(self) -> tuple[str, ...]:
        """All the nodes where it goes, or for which it waits."""
        return self.copies or (self.node,)


def here(why: str, copies: tuple[str, ...] = (), is_shared: bool = False) -> Decision:
    """The message stays: this node is its master. `copies`: others are, too, and get it from here."""
    return Decision(Kind.HERE, why, copies=copies, to_master=bool(copies), is_shared=is_shared)


def forward(why: str, node: str, copies: tuple[str, ...] = (), to_master: bool = False) -> Decision:
    """The message goes on at once."""
    return Decision(Kind.FORWARD, why, node, copies=copies, to_master=to_master)


def wait(why: str, node: str = "", copies: tuple[str, ...] = (), to_master: bool = False) -> Decision:
    """The message goes on when that node can be asked, or when there is one."""
    return Decision(Kind.WAIT, why, node, copies=copies, to_master=to_master)


def refuse(why: str, node: str, code: str) -> Decision:
    """The message goes nowhere, and its publisher is told why."""
    return Decision(Kind.REFUSE, why, node, code)


@dataclass(frozen=True, slots=True)
class Claim:
    """One node's claim on a message, and by which rule. `is_backup`: it counts while no other claim leads
    anywhere. `dirty_read`: who wants what goes there gets it at once."""

    node: str
    stratum: int
    refid: str
    by: str
    is_backup: bool = False
    dirty_read: bool = False


@dataclass(frozen=True, slots=True)
class Sources:
    """The nodes to ask for what a query wants: those that rules name, and perhaps everybody.

    `masters` are those of the hops that divide nothing any more; `away` are those without whom something
    of it cannot be had.
    """

    hops: tuple[str, ...] = ()
    everyone: bool = False
    masters: tuple[str, ...] = ()
    away: tuple[str, ...] = ()

    @classmethod
    def of(cls, decisions: Sequence[Decision], everyone: bool) -> Sources:
        """All that some decisions lead to, each of them about a part of what the query wants."""
        hops = _hops(decisions)
        masters = _hops(decision for decision in decisions if decision.to_master)
        away = _hops(decision for decision in decisions if decision.kind is Kind.WAIT)
        return cls(
            tuple(hops), everyone, tuple(h for h in hops if h in masters), tuple(h for h in hops if h in away)
        )


def _hops(decisions: Iterable[Decision]) -> dict[str, None]:
    """The nodes that these name, each once and in their order."""
    return dict.fromkeys(hop for decision in decisions for hop in decision.hops if hop)
