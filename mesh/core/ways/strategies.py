"""Whose word counts: which strategy is asked about a domain, which about an address?"""

from __future__ import annotations

from collections.abc import Sequence

from balancers.base import Balancer, NodeInfo, Registration
from mesh.core.desk.settings import Settings
from mesh.patterns import matches

KEPT = 10_000  # addresses of which it is remembered


class Strategies:
    """All strategies of a node: `usual`, and others for some domains and addresses."""

    def __init__(self, settings: Settings, usual: Balancer) -> None:
        self._usual = usual
        self._domains = dict(settings.domain_balancers)
        self._addresses = settings.address_balancers
        self._known: dict[str, Balancer] = {}

    def of_domain(self, domain: str) -> Balancer:
        """Whom to ask about masters of a domain, and ways to them."""
        return self._domains.get(domain, self._usual)

    def of_address(self, address: str) -> Balancer:
        """Whom to ask about those who serve an address: the first whose pattern matches."""
        known = self._known.get(address)
        if known is None:
            fit = (balancer for pattern, balancer in self._addresses if matches(pattern, address))
            if len(self._known) >= KEPT:
                self._known.clear()
            known = self._known[address] = next(fit, self._usual)
        return known

    def started(self, info: NodeInfo) -> None:
        """Tell each for whom it chooses."""
        for balancer in self._all():
            balancer.started(info)

    def registrations(self, delta: Sequence[Registration]) -> None:
        """Tell each of the addresses that are its own."""
        for balancer in self._all() if delta else ():
            own = [told for told in delta if self.of_address(told.address) is balancer]
            if own:
                balancer.registrations(own)

    def _all(self) -> Sequence[Balancer]:
        return (self._usual, *self._domains.values(), *(balancer for _, balancer in self._addresses))
