"""Selects the load-balancing strategy for a domain or an address."""

from __future__ import annotations

from collections.abc import Sequence

from mesh.balancers.base import Balancer, NodeInfo, Registration
from mesh.kernel.context.settings import Settings
from mesh.patterns import matches

KEPT = 10_000  # addresses whose strategy is cached


class Strategies:
    """The strategies of a node: `usual`, and others for some domains and addresses."""

    def __init__(self, settings: Settings, usual: Balancer) -> None:
        self._usual = usual
        self._domains = dict(settings.domain_balancers)
        self._addresses = settings.address_balancers
        self._known: dict[str, Balancer] = {}

    def of_domain(self, domain: str) -> Balancer:
        """Return the strategy for the masters of a domain, and for routes to them."""
        return self._domains.get(domain, self._usual)

    def of_address(self, address: str) -> Balancer:
        """Return the strategy for an address: the first whose pattern matches, or else the usual one."""
        known = self._known.get(address)
        if known is None:
            fit = (balancer for pattern, balancer in self._addresses if matches(pattern, address))
            if len(self._known) >= KEPT:
                self._known.clear()
            known = self._known[address] = next(fit, self._usual)
        return known

    def started(self, info: NodeInfo) -> None:
        """Start each strategy with the node's data."""
        for balancer in self._balancers():
            balancer.started(info)

    def registrations(self, delta: Sequence[Registration]) -> None:
        """Notify each strategy of the changes at its own addresses."""
        for balancer in self._balancers() if delta else ():
            own = [told for told in delta if self.of_address(told.address) is balancer]
            if own:
                balancer.registrations(own)

    def _balancers(self) -> Sequence[Balancer]:
        return (self._usual, *self._domains.values(), *(balancer for _, balancer in self._addresses))
