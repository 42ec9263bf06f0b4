"""Admission of handshakes, which ZeroMQ requests for every connection before it reads anything else.

A peer that gets this far knows the mesh's public server key. A new dialing key has a short time to prove by
HELLO that it belongs to the mesh.
"""

from __future__ import annotations

import ipaddress
from collections import deque
from dataclasses import dataclass

from mesh.flow.bounded import Bounded
from mesh.security.keys import KEY_BYTES, z85

DOMAIN = b"heronry"  # of ROUTERs
# Domain of PUBs. Only nodes know their public key, so there is no limit.
GOSSIP = b"heronry gossip"
PENDING = 64  # unproven keys at the same time
NEW_A_SECOND = 8  # new keys per second from one address
PATIENCE = 5.0  # s until an unproven key is dropped
PROVEN = 16_384  # proven keys that are remembered
ADDRESSES = 1024  # source addresses of new keys that are remembered


@dataclass(frozen=True, slots=True)
class ZapVerdict:
    """The verdict on a handshake.

    `status` is as in ZAP: 200 accepts, 300 refuses for now, 400 refuses, 500 is a failure. `user` is the
    public key in Z85.
    """

    status: bytes
    text: str
    user: str = ""
    address: str = ""


class ZapGate:
    """The keys that have connected, with limits for unproven ones."""

    def __init__(self) -> None:
        self._pending: dict[str, float] = {}  # since when, oldest first
        self._proven = Bounded[str, None](PROVEN)
        self._came = Bounded[str, deque[float]](ADDRESSES)  # times of the newest keys of each address

    def verdict(self, request: list[bytes], now: float) -> ZapVerdict:
        """Return the verdict on a request: version, id, domain, address, identity, mechanism, credentials."""
        try:
            return self._decide(request, now)
        except Exception as error:  # an error never admits
            return ZapVerdict(b"500", f"{type(error).__name__}: {error}"[:200])

    def mark_proven(self, user: str) -> None:
        self._pending.pop(user, None)
        self._proven.keep(user, None)

    def _decide(self, request: list[bytes], now: float) -> ZapVerdict:
        if len(request) != 7:
            return ZapVerdict(b"400", f"a request of {len(request)} parts")
        version, _, domain, peer, _, mechanism, key = request
        address = peer.decode("ascii", "backslashreplace")[:80]
        if version != b"1.0" or domain not in (DOMAIN, GOSSIP) or mechanism != b"CURVE":
            return ZapVerdict(b"400", f"{mechanism!r} in domain {domain!r}"[:200], address=address)
        if len(key) != KEY_BYTES:
            return ZapVerdict(b"400", f"a key of {len(key)} bytes", address=address)
        user = z85(key)
        ip = ipaddress.ip_address(address)
        mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
        free = domain == GOSSIP or user in self._proven or (mapped or ip).is_loopback
        why = "" if free else self._limit(user, str(mapped or ip), now)
        return ZapVerdict(b"300" if why else b"200", why or "OK", user, address)

    def _limit(self, user: str, address: str, now: float) -> str:
        """Record an unproven key, or return the reason to refuse it for now."""
        for known, since in list(self._pending.items()):
            if now - since < PATIENCE:
                break
            del self._pending[known]
        came = self._came.get(address, deque(maxlen=NEW_A_SECOND))
        self._came.keep(address, came)
        if len(came) == NEW_A_SECOND and now - came[0] < 1.0:
            return f"more than {NEW_A_SECOND} new keys a second from that address"
        if user not in self._pending and len(self._pending) >= PENDING:
            return f"{PENDING} other keys are not proven yet"
        came.append(now)
        self._pending.setdefault(user, now)
        return ""
