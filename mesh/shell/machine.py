"""The network interfaces of this machine."""

import socket

import psutil

from mesh.discovery.interfaces import Interface

_IP = (socket.AF_INET, socket.AF_INET6)


def interfaces() -> list[Interface]:
    """Return all interfaces in their present state."""
    stats = psutil.net_if_stats()
    return [
        Interface(
            name,
            tuple(address.address for address in addresses if address.family in _IP),
            is_up=name in stats and stats[name].isup,
            has_multicast=name in stats and "multicast" in stats[name].flags.split(","),
        )
        for name, addresses in psutil.net_if_addrs().items()
    ]
