"""Which addresses may a node listen on, and how are they written?"""

import ipaddress
import re

from mesh.errors import BindRefused

DEFAULT_BIND = "tcp://127.0.0.1:0"
_TCP = re.compile(r"(?:tcp://|socket://)?(\[[0-9A-Fa-f:.%]+\]|[^:/\[\]]+):(\d{1,5}|\*)")


def normal(address: str) -> str:
    """`tcp://host:port` for `host:port`, `socket://host:port` or itself; BindRefused when malformed."""
    found = _TCP.fullmatch(address.strip())
    if found is None or (found[2] != "*" and int(found[2]) > 65535):
        raise BindRefused(
            f"{address[:80]!r} is not an address.", hint="Write tcp://HOST:PORT, such as tcp://127.0.0.1:7710"
        )
    host = "127.0.0.1" if found[1] == "localhost" else found[1]
    return f"tcp://{host}:{0 if found[2] == '*' else int(found[2])}"


def check_loopback(address: str) -> str:
    """The address, if only this machine can reach it. Without keys nothing else may be bound."""
    host = address.removeprefix("tcp://").rpartition(":")[0].strip("[]")
    try:
        is_loopback = ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise BindRefused(
            f"refusing to bind {address}: other machines could reach it, and this node has no keys, "
            "so anybody there could read and write everything.",
            hint="Bind tcp://127.0.0.1:0 (this machine only). Keys for a mesh over several machines come "
            "with a later release.",
            code="BIND_WITHOUT_KEYS",
        )
    return address
