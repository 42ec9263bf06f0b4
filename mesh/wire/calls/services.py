"""Questions about addresses and other sites."""

from __future__ import annotations

from mesh.wire.calls.ask import Ask, AskPage, Name


class AskAddresses(AskPage, frozen=True, kw_only=True):
    """List the served addresses: for a client those of the mesh, for a node those of the receiver."""

    verb = "addresses"


class AskFared(Ask, frozen=True, kw_only=True):
    """Return counters of messages from clients of this node to the 100 busiest addresses, and to the rest."""

    verb = "fared"


class AskSites(AskPage, frozen=True, kw_only=True):
    """List the other sites."""

    verb = "sites"


class AskSitePause(Ask, frozen=True, kw_only=True):
    """Pause or resume the relay to a site, at all nodes.

    Attributes:
        site: Name of the site.
        pause: Whether to pause.
    """

    verb = "site_pause"
    site: Name
    pause: bool = True


class AskSiteSync(Ask, frozen=True, kw_only=True):
    """Send a site the retained values of all topics that it receives.

    Attributes:
        site: Name of the site.
    """

    verb = "site_sync"
    site: Name


class AskServers(Ask, frozen=True, kw_only=True):
    """List the nodes to which a message to an address could go.

    Attributes:
        address: The address.
    """

    verb = "servers"
    address: str
