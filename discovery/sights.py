"""Events of multicast DNS.

Importing this module does not load zeroconf.
"""

from dataclasses import dataclass

from mesh.discovery.adverts import Advert, Near, Rejected


@dataclass(frozen=True, slots=True)
class Discovered:
    """A node of this cluster was found and can be dialed.

    The same node may be reported again at any time.
    """

    advert: Advert


@dataclass(frozen=True, slots=True)
class Down:
    """Multicast DNS has failed and will be retried.

    Until then it neither sends nor receives.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Up:
    """Multicast DNS works now."""


Sight = Discovered | Rejected | Near | Down | Up
