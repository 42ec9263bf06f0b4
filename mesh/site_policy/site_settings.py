"""The settings of a node for other sites."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mesh.site_policy.accepting import Accepting
from mesh.site_policy.selection import Selection


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSettings:
    """This site, and the other sites with which it exchanges messages."""

    name: str = ""  # of this site; "" = none
    is_relay: bool = False  # whether this node may be a gateway
    relays: int = 1  # active gateways to one site
    addresses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of gateways, by neighbor site
    ways: Mapping[str, str] = field(default_factory=dict)  # site -> neighbor site that leads there
    selection: Selection = field(default_factory=Selection)  # topics for each site
    outboxes: Mapping[str, int] = field(default_factory=dict)  # bytes that may wait, by site
    rejecting: frozenset[str] = frozenset()  # sites that reject beyond that
    clients: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # addresses for clients, by site
    accepting: Mapping[str, Accepting] = field(default_factory=dict)  # topics from each site

    @property
    def has_others(self) -> bool:
        """Whether the configuration of this node names other sites."""
        return bool(self.ways or self.addresses)
