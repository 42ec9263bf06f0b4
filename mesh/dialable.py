"""Can an address of a node be dialled, and from where?"""

import ipaddress
import re

_DIALABLE = re.compile(r"tcp://(?:\[([0-9A-Fa-f:.]+)(?:%[\w.-]{1,15})?\]|([0-9.]+)):([0-9]{1,5})")


def is_of_link(address: str) -> bool:
    """Is it worth something on one link only? It cannot be typed elsewhere."""
    found = _DIALABLE.fullmatch(address)
    return found is not None and ipaddress.ip_address(found[1] or found[2]).is_link_local


def is_dialable(address: str) -> bool:
    """Is it tcp://IP:PORT? A name would have to be asked for, and a file is no other machine. Port 0 stands
    for any, where one binds."""
    found = _DIALABLE.fullmatch(address)
    try:
        return (
            found is not None
            and bool(ipaddress.ip_address(found[1] or found[2]))
            and 0 < int(found[3]) < 65536
        )
    except ValueError:
        return False
