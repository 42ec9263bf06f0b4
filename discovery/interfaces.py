"""Network interfaces of this node: which ones to use, which addresses to advertise, and changes."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Generic, TypeVar

from mesh.discovery.adverts import MOST_HOSTS

SETTLED = 3.0  # s that a change must last before it is adopted
PAUSE = 5.0  # s between two adopted changes
LOOPBACK = "127.0.0.1"

# Interfaces that lead to no other machine of the mesh, or to too many. They are used only if named.
_KINDS = (
    ("container bridge", ("docker*", "br-*", "veth*", "virbr*", "cni*", "podman*", "lxcbr*", "lxdbr*")),
    ("tunnel", ("tun*", "tap*", "wg*", "tailscale*", "zt*", "utun*")),
)


@dataclass(frozen=True, slots=True)
class Interface:
    """A network interface as the operating system reports it."""

    name: str
    addresses: tuple[str, ...]  # IP address texts; link-local IPv6 ends in %name
    is_up: bool  # enabled, with a cable or a radio link
    has_multicast: bool


def fit(
    found: Sequence[Interface], patterns: Sequence[str] = ()
) -> tuple[list[Interface], list[tuple[str, str]]]:
    """Return the interfaces to use for a wildcard address, and the names of the others with the reasons.

    `patterns` are names such as "eth*", or "!wlan0" for an excluded one. Without a positive pattern, all
    interfaces that seem to lead to other machines are used. Loopback and interfaces without multicast are
    never used.
    """
    reasons = [(interface, _why_not(interface, patterns)) for interface in found]
    chosen = [interface for interface, why in reasons if not why]
    return chosen, [(interface.name, why) for interface, why in reasons if why]


def _why_not(interface: Interface, patterns: Sequence[str]) -> str:
    wanted = [pattern for pattern in patterns if not pattern.startswith("!")]
    is_named = any(fnmatchcase(interface.name, pattern) for pattern in wanted)
    if any(fnmatchcase(interface.name, pattern[1:]) for pattern in patterns if pattern.startswith("!")):
        return "excluded by discovery.interfaces"
    if wanted and not is_named:
        return "not in discovery.interfaces"
    if not interface.is_up:
        return "down, or no cable"
    if not interface.addresses:
        return "no address"
    if all(_ip(address).is_loopback for address in interface.addresses):
        return "loopback"
    kinds = [kind for kind, names in _KINDS if any(fnmatchcase(interface.name, name) for name in names)]
    if kinds and not is_named:
        return kinds[0]
    return "" if interface.has_multicast else "no multicast"


def advertised(bound: str, found: Sequence[Interface], patterns: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the hosts at which others can dial `bound` (tcp://HOST:PORT), link-local ones last.

    The only result for a concrete address is its host. A wildcard yields at most MOST_HOSTS addresses of the
    usable interfaces, without IPv6 if it is an IPv4 wildcard, or loopback if there are none. If no interface
    is usable, unplugged ones count, because unplugging a cable does not change an address.
    """
    host = host_of(bound)
    if not _is_wildcard(host):
        return (host,)
    switched_on = [replace(interface, is_up=True) for interface in found]
    chosen = fit(found, patterns)[0] or fit(switched_on, patterns)[0]
    addresses = [address for interface in chosen for address in interface.addresses]
    hosts = [address for address in addresses if "[" in bound or _ip(address).version == 4]
    return tuple(sorted(hosts, key=lambda address: _ip(address).is_link_local)[:MOST_HOSTS]) or (LOOPBACK,)


def mdns_interfaces(bound: str, found: Sequence[Interface], patterns: Sequence[str] = ()) -> tuple[str, ...]:
    """Return at most one IPv4 and one IPv6 address of each interface on which to use mDNS.

    The addresses identify the interfaces. For a loopback address, and for a wildcard if only loopback can be
    used, the result is 127.0.0.1, because `::1` has no multicast.
    """
    host = host_of(bound)
    if _is_wildcard(host):
        chosen, _ = fit(found, patterns)
    elif _ip(host).is_loopback:
        return (LOOPBACK,)
    else:
        chosen = [interface for interface in found if interface.is_up and _has(interface, host)]
    spoken = tuple(address for interface in chosen for address in _one_of_each(interface, host))
    is_alone = not spoken and any(LOOPBACK in interface.addresses and interface.is_up for interface in found)
    return (LOOPBACK,) if is_alone and _is_wildcard(host) else spoken


def _one_of_each(interface: Interface, host: str) -> list[str]:
    """Return at most one IPv4 address, preferably `host`, and one IPv6 address, preferably link-local."""
    # A second address of the same interface could not join the multicast group again.
    four = [address for address in interface.addresses if _ip(address).version == 4]
    six = [address for address in interface.addresses if _ip(address).version == 6]
    four.sort(key=lambda address: address != host)
    six.sort(key=lambda address: not _ip(address).is_link_local)
    scoped = [address if "%" in address else f"{address}%{interface.name}" for address in six]
    return [*four[:1], *scoped[:1]]


def _has(interface: Interface, host: str) -> bool:
    return any(_ip(address) == _ip(host) for address in interface.addresses)


def host_of(address: str) -> str:
    """Return the host of tcp://HOST:PORT, without brackets."""
    return address.removeprefix("tcp://").rpartition(":")[0].strip("[]")


def _is_wildcard(host: str) -> bool:
    return host == "*" or _ip(host).is_unspecified


def _ip(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(address.partition("%")[0])


T = TypeVar("T")


class InterfaceChanges(Generic[T]):
    """Debounces a polled value: a change is reported only after it has lasted SETTLED seconds.

    Otherwise a cable with a loose contact would make the node announce itself again and again.
    """

    def __init__(self, adopted: T) -> None:
        self.adopted = adopted
        self._seen = adopted
        self._seen_since = 0.0
        self._pause_until = float("-inf")

    def see(self, value: T, now: float) -> bool:
        """Record the polled value, and return whether `adopted` has just changed: at most once per PAUSE."""
        if value != self._seen:
            self._seen, self._seen_since = value, now
        if value == self.adopted or now - self._seen_since < SETTLED or now < self._pause_until:
            return False
        self.adopted = value
        self._pause_until = now + PAUSE
        return True
