"""Checks whether the address of a node can be dialed, and from where."""

import ipaddress
import re

from mesh.discovery.advertised import completed
from mesh.errors import BadConfig

LONGEST = 300  # characters of an address
BROADCAST = ipaddress.ip_address("255.255.255.255")
_ADDRESS = re.compile(r"tcp://(?:\[[0-9A-Fa-f:.]+(?:%[\w.-]+)?\]|\w[\w.-]*):\d{1,5}")
_DIALABLE = re.compile(r"tcp://(?:\[([0-9A-Fa-f:.]+)(?:%[\w.-]{1,15})?\]|([0-9.]+)):([0-9]{1,5})")


def is_of_link(address: str) -> bool:
    """Return whether a dialable address is link-local, and so unusable outside its network segment."""
    found = _DIALABLE.fullmatch(address)
    return found is not None and ipaddress.ip_address(found[1] or found[2]).is_link_local


def is_loopback(address: str) -> bool:
    """Return whether only this machine can reach a dialable address. An ipc:// address is one, too."""
    found = _DIALABLE.fullmatch(address)
    return found is None or ipaddress.ip_address(found[1] or found[2]).is_loopback


def is_dialable(address: str) -> bool:
    """Return whether the address is tcp://IP:PORT with a nonzero port.

    A host name would need a lookup, and an ipc:// address works only on this machine. Port 0 and wildcards
    are for binding.
    """
    found = _DIALABLE.fullmatch(address)
    try:
        return (
            found is not None
            and not ipaddress.ip_address(found[1] or found[2]).is_unspecified
            and 0 < int(found[3]) < 65536
        )
    except ValueError:
        return False


def check_advertised(text: str) -> str:
    """Return the setting node.advertise, IP or IP:PORT, if others can dial it. Raises: BadConfig."""
    address = completed(text, "1")
    if not is_dialable(address) or _is_of_many(address):
        what = f"{text[:80]!r} is not an address that other nodes can dial."
        hint = "Write the IP address of this machine, or of the host or router in front of it: 10.0.0.5, or "
        raise BadConfig(what, hint=f"{hint}203.0.113.7:7710 for a forwarded port.")
    return text


def _is_of_many(address: str) -> bool:
    """Return whether a dialable address is for several receivers: multicast or broadcast."""
    found = _DIALABLE.fullmatch(address)
    ip = ipaddress.ip_address(found[1] or found[2]) if found else None
    return ip is not None and (ip.is_multicast or ip == BROADCAST)


def is_node_address(address: str) -> bool:
    """Return whether the address may be configured for a node: tcp://HOST:PORT, with a name or an IP."""
    return len(address) <= LONGEST and _ADDRESS.fullmatch(address) is not None
