"""Checks whether the address of a node can be dialed, and from where."""

import ipaddress
import re

_DIALABLE = re.compile(r"tcp://(?:\[([0-9A-Fa-f:.]+)(?:%[\w.-]{1,15})?\]|([0-9.]+)):([0-9]{1,5})")


def is_of_link(address: str) -> bool:
    """Return whether a dialable address is link-local, and so unusable outside its network segment."""
    found = _DIALABLE.fullmatch(address)
    return found is not None and ipaddress.ip_address(found[1] or found[2]).is_link_local


def is_dialable(address: str) -> bool:
    """Return whether the address is tcp://IP:PORT with a nonzero port.

    A host name would need a lookup, an ipc:// address works only on this machine, and port 0 is for binding.
    """
    found = _DIALABLE.fullmatch(address)
    try:
        return (
            found is not None
            and bool(ipaddress.ip_address(found[1] or found[2]))
            and 0 < int(found[3]) < 65536
        )
    except ValueError:
        return False
