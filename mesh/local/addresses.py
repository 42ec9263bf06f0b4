"""Addresses that a node may bind or dial, and their notation."""

import ipaddress
import re

from mesh.errors import BindRefused

DEFAULT_BIND = "tcp://127.0.0.1:0"
PORT = 7710  # default port of a node with keys
KEYED_BINDS = (f"tcp://*:{PORT}", "tcp://*:0")  # default with keys: the first free one
_HOST = r"\[[0-9A-Fa-f:.]+(?:%[\w.-]+)?\]|\*|\w[\w.-]*"  # IPv6, wildcard, IPv4 or host name
_LONGEST_HOST = 253  # characters, the limit of DNS
_TCP = re.compile(rf"(?:tcp://|socket://)?({_HOST}):(\d{{1,5}}|\*)")


def normal(address: str, origin: str = "") -> str:
    """Return `address` as `tcp://host:port`; it may also be `host:port` or `socket://host:port`.

    `localhost` becomes 127.0.0.1, and the port `*` becomes 0. Raises: BindRefused, which names the `origin`.
    """
    found = _TCP.fullmatch(address.strip())
    if found is None or (found[2] != "*" and int(found[2]) > 65535) or not _is_host(found[1]):
        raise BindRefused(
            f"{f'{origin}: ' if origin else ''}{address[:80]!r} is not a TCP address.",
            hint="Write tcp://HOST:PORT with a port up to 65535, such as tcp://127.0.0.1:7710",
        )
    host = "127.0.0.1" if found[1] == "localhost" else found[1]
    return f"tcp://{host}:{0 if found[2] == '*' else int(found[2])}"


def with_port(text: str) -> str:
    """Return the address of a node at a host: `tcp://10.0.0.5:7710` for `10.0.0.5`.

    A port in `text` is kept. Raises: BindRefused.
    """
    host = text.strip().removeprefix("tcp://")
    if _is_ip_6(host):
        host = f"[{host}]"
    is_host = host.endswith("]") or ":" not in host
    try:
        return normal(f"{host}:{PORT}" if is_host else text)
    except BindRefused as error:
        hint = (
            "Write HOST or HOST:PORT with a port up to 65535, such as 10.0.0.5, "
            f"nas.example.com:{PORT} or [2001:db8::5]:{PORT}"
        )
        raise BindRefused(f"{text[:80]!r} is not a TCP address.", hint=hint) from error


def is_wildcard(address: str) -> bool:
    """Return whether the address means all addresses of this machine."""
    return _host(address) in ("*", "0.0.0.0", "::")


def is_loopback(address: str) -> bool:
    """Return whether only this machine can reach the address. False for host names."""
    try:
        return ipaddress.ip_address(_host(address).partition("%")[0]).is_loopback
    except ValueError:
        return False


def check_bind(address: str, has_keys: bool) -> str:
    """Return the address if it may be bound: without keys, loopback only. Raises: BindRefused."""
    if not has_keys and not is_loopback(address):
        raise BindRefused(
            f"{address} was not bound: it may be reachable from other machines, and without keys "
            "anyone there could read and write all messages.",
            hint="Run `mesh init` (a new mesh) or `mesh join` (an existing one), and try again; "
            "or bind tcp://127.0.0.1:0, for this machine only.",
            code="BIND_WITHOUT_KEYS",
        )
    return address


def _is_host(host: str) -> bool:
    if host == "*" or not re.fullmatch(r"\[.*\]|[0-9.]+", host):
        return len(host) <= _LONGEST_HOST
    try:
        return bool(ipaddress.ip_address(host.strip("[]").partition("%")[0]))
    except ValueError:
        return False


def _is_ip_6(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).version == 6
    except ValueError:
        return False


def _host(address: str) -> str:
    return address.removeprefix("tcp://").rpartition(":")[0].strip("[]")
