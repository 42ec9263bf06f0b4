"""The addresses at which a node listens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mesh.errors import BadConfig, BindRefused, MeshError
from mesh.local.addresses import DEFAULT_BIND, KEYED_BINDS, check_bind, normal
from mesh.local.datadir import DataDir
from mesh.local.private import socket_path
from mesh.transport import Sockets


@dataclass(frozen=True, slots=True)
class Bound:
    """Bound addresses: `ipc` for this user's programs, `tcp` for all others, `pub` for gossip."""

    ipc: str
    tcp: Sequence[str]
    pub: str


def bind(sockets: Sockets, given: Sequence[str], has_keys: bool, data: DataDir) -> Bound:
    """Bind all sockets of a node, and keep the port of the first TCP address in `data`.

    Raises: BindRefused, DataDirRefused.
    """
    local = socket_path(data.path, data.uuid)
    ipc = sockets.bind(f"ipc://{local}", trusted=True)
    tcp = bind_all(sockets, given, has_keys, data.port)
    data.port = int(tcp[0].rpartition(":")[2])
    pub = _bind_pub(sockets, tcp[0]) if has_keys else sockets.bind_pub(f"ipc://{local.with_suffix('.pub')}")
    return Bound(ipc, tcp, pub)


def bind_all(sockets: Sockets, given: Sequence[str], has_keys: bool, last_port: int | None) -> list[str]:
    """Bind the given addresses, or else a free default, and return them with real ports. Raises: BindRefused.

    Port 0 selects the port of the last run, if it is free, so that others find the node again.
    """
    wanted = to_bind(given, has_keys)
    if wanted:
        return [_bind(sockets, address, last_port) for address in wanted]
    first, *others = KEYED_BINDS if has_keys else (DEFAULT_BIND,)
    try:
        return [_bind(sockets, first, last_port)]
    except BindRefused:
        if not others:
            raise
        return [_bind(sockets, others[0], last_port)]


def limits_of(given: Sequence[str], most: Mapping[str, int], bound: Sequence[str] = ()) -> dict[str, int]:
    """Return the limit of connections of each bound address.

    `bound` has the addresses of `given`, with real ports. Raises: BadConfig for a limit of another address.
    """
    wanted = [normal(address, "node.bind") for address in given]
    limits = {normal(address, "node.address_max_connections"): limit for address, limit in most.items()}
    for address in limits:
        if address not in wanted:
            hint = "Write the address as in node.bind, or use node.max_connections for all addresses."
            what = f"node.address_max_connections: {address} is no address of node.bind."
            raise BadConfig(what, hint=hint)
    pairs = zip(wanted, bound, strict=False)  # without `given`, a default is bound
    return {there: limits[address] for address, there in pairs if address in limits}


def to_bind(given: Sequence[str], has_keys: bool) -> list[str]:
    """Return the given addresses in normal form. Raises: BindRefused if one may not be bound."""
    return [check_bind(normal(address, "node.bind"), has_keys) for address in given]


def _bind(sockets: Sockets, address: str, last_port: int | None) -> str:
    if address.endswith(":0") and last_port is not None:
        try:
            return sockets.bind(f"{address[:-1]}{last_port}", trusted=False)
        except MeshError:
            pass  # another process has it now
    return sockets.bind(address, trusted=False)


def _bind_pub(sockets: Sockets, tcp: str) -> str:
    """Bind PUB to the port after that of `tcp` if it is free, so that a firewall rule can name the port."""
    host, _, port = tcp.rpartition(":")
    try:
        bound = sockets.bind_pub(f"{host}:{int(port) + 1}")
    except BindRefused:
        bound = sockets.bind_pub(f"{host}:0")
    return f"tcp://*:{bound.rpartition(':')[2]}"
