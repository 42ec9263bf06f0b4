"""The choice of the addresses that a node advertises to other nodes."""

# Law 1: the user's setting is used alone. Without a setting, the first usable hint precedes the addresses of
#        the interfaces.
# Law 2: a hint never makes a node advertise a wildcard or a loopback address. A setting may name a loopback
#        address, such as the end of a tunnel.

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

from mesh.discovery.adverts import MOST_HOSTS
from mesh.discovery.interfaces import Interface, advertised, host_of

MOST = 1 + MOST_HOSTS  # addresses of a node


@dataclass(frozen=True, slots=True)
class Wish:
    """The address that a node should advertise, as HOST or HOST:PORT; "" if none was named.

    `setting` is the user's. `public` and `host` are hints of the environment and of the shared configuration.
    """

    setting: str = ""
    public: str = ""
    host: str = ""


NO_WISH = Wish()


def choose_addresses(
    wish: Wish, bound: Sequence[str], found: Sequence[Interface], patterns: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the addresses that a node advertises, the one to dial first at the front, at most MOST.

    `bound` are the addresses on which the node listens, as tcp://HOST:PORT, `found` the interfaces of its
    machine, and `patterns` those of `discovery.interfaces`. A wish without a port gets the first bound port.
    """
    port = bound[0].rpartition(":")[2]
    if wish.setting:
        return (completed(wish.setting, port),)
    own = [
        f"tcp://{bracketed(host)}:{address.rpartition(':')[2]}"
        for address in bound
        for host in advertised(address, found, patterns)
    ]
    # No other machine can dial a node that is bound to loopback only, whatever a hint says.
    hints = () if all(map(is_loopback, own)) else filter(is_usable_hint, (wish.public, wish.host))
    best = [completed(hint, port) for hint in hints][:1]
    return tuple(dict.fromkeys([*best, *own]))[:MOST]


def completed(text: str, port: str) -> str:
    """Return HOST, HOST:PORT or tcp://HOST:PORT as tcp://HOST:PORT. The result need not be dialable."""
    host = text.strip().removeprefix("tcp://").removeprefix("socket://")
    if host.count(":") > 1 and not host.startswith("["):
        host = f"[{host}]"
    has_port = ":" in host.rpartition("]")[2]
    return f"tcp://{host}" if has_port else f"tcp://{host}:{port}"


def is_usable_hint(text: str) -> bool:
    """Return whether the address in a hint is an IP address that other machines can dial."""
    address = completed(text, "1")
    ip, port = _ip(address), address.rpartition(":")[2]
    if ip is None or ip.is_loopback or ip.is_unspecified or ip.is_multicast:
        return False
    is_port = port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65536
    return is_port and address == f"tcp://{bracketed(host_of(address))}:{port}"


def is_loopback(address: str) -> bool:
    """Return whether tcp://HOST:PORT has a loopback address, which leads back to the machine that dials."""
    ip = _ip(address)
    return ip is not None and ip.is_loopback


def _ip(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        ip = ipaddress.ip_address(host_of(address).partition("%")[0])
    except ValueError:
        return None
    return getattr(ip, "ipv4_mapped", None) or ip


def bracketed(host: str) -> str:
    """Return a host as it stands in an address: IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host
