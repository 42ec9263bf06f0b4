"""Resolves host names off the loop, with a time limit.

ZeroMQ's own resolution would block the node.
"""

import asyncio
import ipaddress
import socket

from mesh.discovery.interfaces import host_of

LIMIT = 3.0  # s


def is_ip(address: str) -> bool:
    """Return whether an address needs no resolution: an IP address, or not tcp."""
    try:
        return bool(ipaddress.ip_address(host_of(address).partition("%")[0]))
    except ValueError:
        return not address.startswith("tcp://")


async def resolved(address: str) -> str | None:
    """Return tcp://IP:PORT, or `None` if the host cannot be resolved."""
    port = address.rpartition(":")[2]
    try:
        async with asyncio.timeout(LIMIT):
            loop = asyncio.get_running_loop()
            found = await loop.getaddrinfo(host_of(address), int(port), type=socket.SOCK_STREAM)
    except (OSError, ValueError):
        return None
    host = str(found[0][4][0])
    return f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}"
