"""Adverts of nodes over multicast DNS: their encoding, and the checks that received ones must pass."""

# Rule 1: an advert is a hint, never proof of a node's state. It only means that an address is worth dialing.
# Rule 2: unproven adverts have no effect: those of other clusters are not followed, bad ones raise no error.
# Rule 3: hosts are not proven. They differ by interface and arrive one by one. A wrong one leads to a failed
# handshake.

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

FORMAT = b"1"
LARGEST_READ = 512  # bytes of TXT
MOST_HOSTS = 8
MAC = 16  # bytes

Sign = Callable[[bytes], bytes]  # text -> signature
Verify = Callable[[bytes, bytes, bytes], bool]  # public key, text, signature

_NAME = re.compile(rb"[A-Za-z0-9_.:-]{1,64}")
_INSTANCE = re.compile(r"[0-9a-f]{32}")
_BOOT = re.compile(rb"[1-9][0-9]{0,18}")
_HEX = re.compile(rb"(?:[0-9a-f]{2})*")
_SCOPE = re.compile(r"[A-Za-z0-9_.-]{1,16}")
_FAR, _LINK, _LOOPBACK = range(3)  # reach of an address


@dataclass(frozen=True, slots=True)
class Advert:
    """The announcement of a node, with all that other nodes need to dial it.

    `hosts` are IP addresses as text, those with the widest reach first.
    """

    uuid: bytes  # 16 bytes
    name: str
    boot: int
    port: int
    hosts: tuple[str, ...]
    key: bytes = b""  # Ed25519 public key, 32 bytes; none in a mesh without keys

    @property
    def instance(self) -> str:
        """The service instance name of the node: its uuid in hex, which is unique."""
        return self.uuid.hex()


@dataclass(frozen=True, slots=True)
class Rejected:
    """An advert that claims to be of this cluster but must not be followed.

    With an empty `instance`, mDNS itself has failed.
    """

    instance: str  # as received, truncated
    reason: str  # human-readable
    code: str


@dataclass(frozen=True, slots=True)
class Near:
    """A node of another mesh, with other keys, as its advert describes it.

    Nothing in it is proven.
    """

    mesh: str  # shared by all adverts of that mesh
    name: str
    address: str


class Adverts:
    """Writes and reads the adverts of one cluster as TXT records.

    `sign` signs a text, and is None in a mesh without keys. `verify` checks a signature with a public key.

    The record has `v` (1), `c` (the mesh), `n` (name), `b` (boot), `k` (public key), `m` and `s` (signature).
    All of them are text, bytes in hexadecimal; `k` and `s` only in a mesh with keys. `c` is the first 8 bytes
    of HMAC-SHA256(secret, "cluster" 00 CLUSTER). `m` is the first 16 bytes of the HMAC of the signed text:

        "heronry advert 1" 00 c 00 uuid in hexadecimal 00 name 00 boot 00 port 00 key as 32 bytes, or nothing

    The secret is the cookie; with keys it is HKDF-SHA256 of the mesh's secret with the info "adverts".
    """

    def __init__(self, cluster: str, secret: bytes, sign: Sign | None, verify: Verify) -> None:
        self._secret = secret
        self._sign = sign
        self._verify = verify
        self._cluster = _mac(secret, b"cluster\0" + cluster.encode())[:8].hex().encode()

    def write_txt(self, advert: Advert) -> dict[str, bytes]:
        """Return the TXT record of `advert`, in at most LARGEST_READ bytes.

        All values are ASCII text that any mDNS browser can show.
        """
        text = self._text(advert)
        txt = {"v": FORMAT, "c": self._cluster, "n": advert.name.encode(), "b": b"%d" % advert.boot}
        if advert.key:
            txt["k"] = advert.key.hex().encode()
        txt["m"] = _mac(self._secret, text)[:MAC].hex().encode()
        if self._sign is not None:
            txt["s"] = self._sign(text).hex().encode()
        return txt

    def read_advert(
        self, instance: str, txt: Mapping[bytes, bytes | None], port: int | None, hosts: Sequence[str]
    ) -> Advert | Rejected | Near | None:
        """Return the advert if it is proven, or Rejected with the reason.

        In a mesh with keys, return Near for a node with keys of another mesh. Return None for other nodes of
        other meshes, and for services that are not nodes.
        """
        if txt.get(b"c") != self._cluster:
            return self._near(instance, txt, port, hosts)
        try:
            return self._proven(instance, txt, port, hosts)
        except _Unfit as unfit:
            return Rejected(instance[:64], unfit.reason, unfit.code)

    def _proven(
        self, instance: str, txt: Mapping[bytes, bytes | None], port: int | None, hosts: Sequence[str]
    ) -> Advert:
        if sum(2 + len(key) + len(value or b"") for key, value in txt.items()) > LARGEST_READ:
            raise _Unfit(f"its TXT record is larger than {LARGEST_READ} bytes", "ADVERT_TOO_LARGE")
        if txt.get(b"v") != FORMAT:
            shown = repr((txt.get(b"v") or b"")[:8])
            raise _Unfit(f"its format is {shown}; this release reads {FORMAT!r}", "ADVERT_FORMAT")
        advert = _parsed(instance, txt, port)
        text = self._text(advert)
        if not hmac.compare_digest(_hex(txt, b"m", MAC), _mac(self._secret, text)[:MAC]):
            raise _Unfit(
                "its authentication code is wrong: the sender does not have the cluster's secret",
                "ADVERT_MAC",
            )
        if self._sign is not None and not self._verify(advert.key, text, _hex(txt, b"s", 64)):
            raise _Unfit(
                "its signature is wrong: the advert does not come from that node", "ADVERT_SIGNATURE"
            )
        reachable = usable(hosts)
        if not reachable:
            raise _Unfit("it names no address that can be dialed", "ADVERT_NO_ADDRESS")
        return Advert(advert.uuid, advert.name, advert.boot, advert.port, reachable, advert.key)

    def _near(
        self, instance: str, txt: Mapping[bytes, bytes | None], port: int | None, hosts: Sequence[str]
    ) -> Near | None:
        """Return the node of another mesh with keys that the advert describes, or None.

        Only this method lets two machines notice each other if each has generated its own keys.
        """
        if self._sign is None or b"k" not in txt or txt.get(b"v") != FORMAT or not usable(hosts):
            return None
        try:
            advert, mesh = _parsed(instance, txt, port), _hex(txt, b"c", 8)
        except _Unfit:
            return None
        host = usable(hosts)[0]
        bracketed = f"[{host}]" if ":" in host else host
        return Near(mesh.hex(), advert.name, f"tcp://{bracketed}:{advert.port}")

    def _text(self, advert: Advert) -> bytes:
        """Return the text that the MAC and the signature of `advert` cover.

        Field boundaries are unambiguous, because only the last field can contain a zero byte.
        """
        return b"\0".join(
            (
                b"heronry advert " + FORMAT,
                self._cluster,
                advert.uuid.hex().encode(),
                advert.name.encode(),
                b"%d" % advert.boot,
                b"%d" % advert.port,
                advert.key,
            )
        )


class _Unfit(Exception):
    """An advert must not be followed; this exception never leaves this module."""

    def __init__(self, reason: str, code: str = "ADVERT_MALFORMED") -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code


def _parsed(instance: str, txt: Mapping[bytes, bytes | None], port: int | None) -> Advert:
    name, boot = txt.get(b"n") or b"", txt.get(b"b") or b""
    if _INSTANCE.fullmatch(instance) is None:
        raise _Unfit("its instance name is not the uuid of a node")
    if _NAME.fullmatch(name) is None:
        raise _Unfit(f"its node name {name[:80]!r} is invalid")
    if _BOOT.fullmatch(boot) is None:
        raise _Unfit(f"its boot number {boot[:80]!r} is invalid")
    if port is None or not 0 < port < 65536:
        raise _Unfit("it has no valid port")
    return Advert(bytes.fromhex(instance), name.decode(), int(boot), port, (), _key(txt))


def _key(txt: Mapping[bytes, bytes | None]) -> bytes:
    return _hex(txt, b"k", 32) if b"k" in txt else b""


def _hex(txt: Mapping[bytes, bytes | None], field: bytes, size: int) -> bytes:
    value = txt.get(field) or b""
    if len(value) != 2 * size or _HEX.fullmatch(value) is None:
        raise _Unfit(f"its field {field.decode()} is not {size} bytes in hex")
    return bytes.fromhex(value.decode())


def _mac(secret: bytes, text: bytes) -> bytes:
    return hmac.digest(secret, text, hashlib.sha256)


def usable(hosts: Sequence[str]) -> tuple[str, ...]:
    """Return the addresses that can be dialed, those with the widest reach first, at most MOST_HOSTS.

    Loopback addresses are kept only if there are no others, because they lead back to the machine that dials.
    """
    ranked = {host: rank for host in hosts if (rank := _rank(host)) is not None}
    if min(ranked.values(), default=_LOOPBACK) < _LOOPBACK:
        ranked = {host: rank for host, rank in ranked.items() if rank < _LOOPBACK}
    return tuple(sorted(ranked, key=ranked.__getitem__)[:MOST_HOSTS])


def _rank(host: str) -> int | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    if "%" in host and _SCOPE.fullmatch(host.partition("%")[2]) is None:
        return None
    if address.is_loopback:
        return _LOOPBACK
    if address.is_unspecified or address.is_multicast or address.is_reserved:
        return None
    return _LINK if address.is_link_local else _FAR
