"""What does multicast DNS tell? (Without zeroconf: who does not speak it need not load that.)"""

from dataclasses import dataclass

from discovery.adverts import Advert, Near, Rejected


@dataclass(frozen=True, slots=True)
class Discovered:
    """A node of our cluster is worth connecting to. The same may be found again at any time."""

    advert: Advert


@dataclass(frozen=True, slots=True)
class Down:
    """From now on nobody is heard, and we are not. It is tried again."""

    reason: str


@dataclass(frozen=True, slots=True)
class Up:
    """From now on we are heard."""


Sight = Discovered | Rejected | Near | Down | Up
