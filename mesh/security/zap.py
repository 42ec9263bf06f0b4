"""Who may shake hands? Asked by ZeroMQ for every connection, before anything else is read from it.

Whoever gets as far as this knows the mesh's public server key, which strangers do not. The key that it
dials with is new or known; a new one has a moment in which to prove, by HELLO, that it belongs here.
"""

from __future__ import annotations

import ipaddress
from collections import deque
from dataclasses import dataclass

from mesh.security.keys import KEY_BYTES, z85

DOMAIN = b"heronry"  # of ROUTERs
GOSSIP = b"heronry gossip"  # of PUBs: their public key is known to nodes only, so there is nothing to limit
PENDING = 64  # keys at once that have not proven themselves
NEW_A_SECOND = 8  # such keys from one address
PATIENCE = 5.0  # s that each has
PROVEN = 16_384  # keys remembered that have
ADDRESSES = 1024  # remembered that new keys came from


@dataclass(frozen=True, slots=True)
class ZapVerdict:
    """A verdict. `status` as in ZAP: 200 yes, 300 not now, 400 no, 500 broken. `user`: public key, in Z85."""

    status: bytes
    text: str
    user: str = ""
    address: str = ""


class ZapGate:
    """The keys that have been here."""

    def __init__(self) -> None:
        self._pending: dict[str, float] = {}  # since when, oldest first
        self._proven: dict[str, None] = {}  # the one of longest ago first
        self._came: dict[str, deque[float]] = {}  # by address: when its newest keys came

    def decide(self, request: list[bytes], now: float) -> ZapVerdict:
        """The answer to a request: version, id, domain, address, identity, mechanism, credentials."""
        try:
            return self._decide(request, now)
        except Exception as error:  # whatever it is: nobody comes in by it
            return ZapVerdict(b"500", f"{type(error).__name__}: {error}"[:200])

    def proven(self, user: str) -> None:
        """The holder of this key has said a good HELLO."""
        self._pending.pop(user, None)
        self._proven.pop(user, None)
        self._proven[user] = None
        if len(self._proven) > PROVEN:
            del self._proven[next(iter(self._proven))]

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
        """Take note of an unproven key, or say why not now."""
        for known, since in list(self._pending.items()):
            if now - since < PATIENCE:
                break
            del self._pending[known]
        came = self._came.pop(address, deque(maxlen=NEW_A_SECOND))
        self._came[address] = came
        if len(self._came) > ADDRESSES:
            del self._came[next(iter(self._came))]
        if len(came) == NEW_A_SECOND and now - came[0] < 1.0:
            return f"more than {NEW_A_SECOND} new keys a second from there"
        if user not in self._pending and len(self._pending) >= PENDING:
            return f"{PENDING} others have not proven themselves yet"
        came.append(now)
        self._pending.setdefault(user, now)
        return ""
