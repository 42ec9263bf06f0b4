"""Where does a node listen?"""

from collections.abc import Sequence

from mesh.errors import BindRefused, MeshError
from mesh.local.addresses import DEFAULT_BIND, KEYED_BINDS, check_bind, normal
from mesh.transport import Sockets


def bind_all(sockets: Sockets, given: Sequence[str], has_keys: bool, last_port: int | None) -> list[str]:
    """Bind what is given, else the default; the addresses with their real ports. BindRefused.

    Who asks for any port gets the one it had last, so that others find it again.
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


def to_bind(given: Sequence[str], has_keys: bool) -> list[str]:
    """What is given, each in one spelling, if it may be bound. BindRefused."""
    return [check_bind(normal(address), has_keys) for address in given]


def _bind(sockets: Sockets, address: str, last_port: int | None) -> str:
    if address.endswith(":0") and last_port is not None:
        try:
            return sockets.bind(f"{address[:-1]}{last_port}", trusted=False)
        except MeshError:
            pass  # somebody else has it now
    return sockets.bind(address, trusted=False)
