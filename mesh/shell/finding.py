"""Discovery on the network: nodes by multicast DNS, and changes of the interfaces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from mesh.config import Config, Discovery
from mesh.discovery.advertised import NO_WISH, Wish, bracketed, choose_addresses, is_usable_hint
from mesh.discovery.adverts import Advert, Adverts, Near, Rejected
from mesh.discovery.interfaces import InterfaceChanges, fit, host_of, mdns_interfaces
from mesh.discovery.sights import Discovered, Down, Up
from mesh.local.addresses import is_wildcard
from mesh.shell.machine import interfaces
from mesh.wire.commands import Introduction

if TYPE_CHECKING:
    from mesh.discovery.mdns import Mdns

LOOK = 3.0  # s between two scans of the interfaces
PUBLIC_HOST = "MESH_PUBLIC_HOST"  # variable with the hint of a container's or a cloud's environment

DialPlaces = tuple[tuple[str, ...], tuple[str, ...]]  # addresses to dial, interfaces for mDNS


class FindingListener(Protocol):
    """Receiver of discovery events."""

    def advertised(self, node: Introduction) -> None: ...
    def on_foreign_mesh(self, name: str, address: str) -> None: ...
    def readdressed(self, addresses: tuple[str, ...]) -> None: ...
    def report_event(self, kind: str, text: str, level: str = "info") -> None: ...


def wish_of(config: Config, me: str, environ: Mapping[str, str]) -> Wish:
    """Return the address that the user or the surroundings of the node `me` named.

    The section of the node in a file that all nodes share is a hint.
    """
    host = next((node.address for node in config.nodes if node.name == me), None)
    return Wish(config.node.advertise or "", environ.get(PUBLIC_HOST, ""), host or "")


def addresses(bound: Sequence[str], settings: Discovery, wish: Wish = NO_WISH) -> tuple[str, ...]:
    """Return the addresses that this node advertises, the best first."""
    return choose_addresses(wish, bound, interfaces(), settings.interfaces)


def machine_hosts() -> frozenset[str]:
    """Return the IP addresses of this machine's interfaces, loopback included."""
    return frozenset(address for interface in interfaces() for address in interface.addresses)


class Finding:
    """Searches for nodes by multicast DNS, and watches the interfaces, on the event loop.

    `me` returns this node's current introduction. `hears` is notified of discovery events. `wish` has the
    address that the user or the environment named.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        settings: Discovery,
        bound: Sequence[str],
        adverts: Adverts,
        me: Callable[[], Introduction],
        hears: FindingListener,
        wish: Wish = NO_WISH,
    ) -> None:
        self._loop = loop
        self._settings = settings
        self._bound = tuple(bound)
        self._wish = wish
        self._me = me
        self._hears = hears
        self._changes = InterfaceChanges(self._places())
        self._timer: asyncio.TimerHandle | None = None
        self._mdns: Mdns | None = None
        self._planned = False
        self._closed = False
        if settings.mdns:
            from mesh.discovery.mdns import Mdns  # late: zeroconf takes a fifth of the start

            self._mdns = Mdns(adverts, self._advert(), self._changes.adopted[1], self._wake)

    @property
    def named(self) -> str:
        """The address that a setting or a hint named, if this node advertises it, else ""."""
        first = self._changes.adopted[0][0]
        return "" if first in addresses(self._bound, self._settings) else first

    @property
    def spoken(self) -> tuple[str, ...]:
        """The interfaces on which mDNS is active."""
        return self._changes.adopted[1] if self._mdns is not None else ()

    @property
    def skipped(self) -> list[tuple[str, str]]:
        """The interfaces, except loopback, that a wildcard address does not use, as (name, reason)."""
        is_everywhere = any(is_wildcard(address) for address in self._bound)
        skipped = fit(interfaces(), self._settings.interfaces)[1] if is_everywhere else []
        return [(name, why) for name, why in skipped if why != "loopback"]

    def start(self) -> None:
        """Report skipped interfaces and a hint that cannot be used, and start."""
        public = self._wish.public
        if public and not is_usable_hint(public):
            why = "it is not an IP address that other machines can dial"
            text = f"{PUBLIC_HOST}={public[:80]} is ignored: {why}"
            self._hears.report_event("interfaces", text, "warning")
        for name, why in self.skipped:
            self._hears.report_event("interfaces", f"{name} is skipped: {why}")
        if self._mdns is not None:
            self._mdns.start()
        self._timer = self._loop.call_later(LOOK, self._check_interfaces)

    def stop(self) -> None:
        """Send goodbye by mDNS, and stop."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._mdns is not None:
            self._mdns.stop()

    # --- interfaces -----------------------------------------------------------------------------------

    def _places(self) -> DialPlaces:
        found, patterns = interfaces(), self._settings.interfaces
        spoken = (i for address in self._bound for i in mdns_interfaces(address, found, patterns))
        return addresses(self._bound, self._settings, self._wish), tuple(dict.fromkeys(spoken))

    def _check_interfaces(self) -> None:
        self._timer = self._loop.call_later(LOOK, self._check_interfaces)
        before = self._changes.adopted
        try:
            places = self._places()
        except OSError:  # out of descriptors: the next scan reports changes
            return
        if not self._changes.see(places, self._loop.time()):
            return
        there, spoken = self._changes.adopted
        self._hears.report_event("interfaces", f"this node is now at {', '.join(there)}")
        if there != before[0]:
            self._hears.readdressed(there)
        if self._mdns is not None:
            self._mdns.update(self._advert(), spoken)

    # --- multicast DNS --------------------------------------------------------------------------------

    def _advert(self) -> Advert:
        me, there = self._me(), self._changes.adopted[0]
        port = there[0].rpartition(":")[2]  # an advert has only one
        hosts = dict.fromkeys(host_of(address) for address in there if address.endswith(f":{port}"))
        return Advert(me.uuid, me.name, me.boot, int(port), tuple(hosts), me.key)

    def _wake(self) -> None:
        """Schedule `_take_sights` on the loop.

        The mDNS thread calls this method.
        """
        if not self._planned and not self._closed:
            self._planned = True
            self._loop.call_soon_threadsafe(self._take_sights)

    def _take_sights(self) -> None:
        self._planned = False
        if self._mdns is None or self._closed:
            return
        for sight in self._mdns.take():
            match sight:
                case Discovered(advert):
                    self._hears.advertised(_introduced(advert))
                case Near(_, name, address):
                    self._hears.on_foreign_mesh(name, address)
                case Rejected():
                    self._hears.report_event(
                        "advert", f"{sight.instance}: {sight.reason} [{sight.code}]", "warning"
                    )
                case Down(reason):
                    text = f"multicast DNS is down: {reason}. The node retries; seeds and gossip still work."
                    self._hears.report_event("mdns", text, "warning")
                case Up():
                    self._hears.report_event(
                        "mdns", f"multicast DNS on {', '.join(self._changes.adopted[1])}"
                    )


def _introduced(advert: Advert) -> Introduction:
    first, *others = (f"tcp://{bracketed(host)}:{advert.port}" for host in advert.hosts)
    return Introduction(advert.uuid, advert.name, advert.boot, first, tuple(others), key=advert.key)
