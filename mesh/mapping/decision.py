"""What does the mapping see, and what can it say?"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class View(Protocol):
    """What is known of other nodes at this moment, by name."""

    def is_known(self, node: str) -> bool:
        """May it be linked, or is it linked now?"""

    def is_alive(self, node: str) -> bool:
        """Can it be asked something now?"""

    def way_to(self, node: str) -> str | None:
        """The neighbour through which a node that is not known can be reached, as far as that was asked."""

    def choose(self, nodes: Sequence[str], of: Hashable) -> str:
        """One of several that would do as well. The same `of` (a publisher's stream, a query) gets the same
        one as long as it is among them; None: whoever's turn it is."""


class Use(Enum):
    """What is wanted of the masters of a query."""

    GET = "get"  # one of them is asked
    SUBSCRIBE = "subscribe"  # all are
    ERASE = "erase"  # all are, by a master too


class Kind(Enum):
    """What becomes of a message; the value is the word that people read."""

    HERE = "here"
    FORWARD = "forward"
    WAIT = "wait"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Decision:
    """`node`: where it goes, or for whom it waits ("" = nobody knows); `code` of a refusal.

    `copies`: the masters, if there are several, that get one each; with HERE, those beside this node. FORWARD
    then means that some of them can be asked now. `to_master`: whoever gets it next is a master. `is_shared`:
    this node is one of several masters.
    """

    kind: Kind
    why: str
    node: str = ""
    code: str = ""
    copies: tuple[str, ...] = ()
    to_master: bool = False
    is_shared: bool = False

    @property
    def hops(self) -> tuple[str, ...]:
        """All the nodes where it goes, or for which it waits."""
        return self.copies or (self.node,)


@dataclass(frozen=True, slots=True)
class Claim:
    """One node's claim on a message, and by which rule."""

    node: str
    stratum: int
    refid: str
    by: str


@dataclass(frozen=True, slots=True)
class Sources:
    """Whom to ask for what a query wants: the nodes that rules name, and perhaps everybody.

    `masters` are those of the hops that divide nothing any more; `away` are those without whom something
    of it cannot be had.
    """

    hops: tuple[str, ...] = ()
    everyone: bool = False
    masters: tuple[str, ...] = ()
    away: tuple[str, ...] = ()
