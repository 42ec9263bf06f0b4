"""Is this the password? Compared with a scrypt hash, and not as often as somebody likes to guess."""

from __future__ import annotations

import hashlib
import hmac
from collections import deque

from mesh.errors import BadConfig

COST = {"n": 2**14, "r": 8, "p": 1, "dklen": 32}  # about 40 ms and 16 MiB a try
SALT_BYTES = 16
TRIES, MINUTE = 10, 60.0  # wrong ones a minute, of all together: a key is made anew for nothing
WAIT, LONGEST_WAIT = (
    60.0,
    3600.0,
)  # s without another try after that, doubled each time, until so long was quiet
KEYS = 4096  # remembered, of who was right


def hashed(passwd: str, salt: bytes) -> str:
    """A password as a configuration file may hold it: "scrypt:SALT:HASH"."""
    return f"scrypt:{salt.hex()}:{_scrypt(passwd, salt).hex()}"


def check_hash(text: str) -> str:
    """The hash as it is; BadConfig when it is none."""
    try:
        _parsed(text)
    except ValueError:
        hint = "`mesh passwd` asks for a password and prints its hash."
        raise BadConfig("this is no hash of a password.", hint=hint) from None
    return text


class Password:
    """One password, and who has told it, by public key."""

    def __init__(self, stored: str) -> None:
        self._salt, self._hash = _parsed(stored)
        self._right: dict[str, bytes] = {}  # so that a connection more costs no scrypt, and no wait
        self._wrong: deque[float] = deque(maxlen=TRIES)  # when
        self._until = 0.0  # nobody new is listened to before
        self._wait = WAIT

    def refuse(self, user: str, passwd: str, now: float) -> str:
        """ "" if it is right, else why not."""
        if not passwd:
            return "it wants a password"
        mark = hmac.digest(self._salt, passwd.encode(), hashlib.sha256)
        if hmac.compare_digest(self._right.get(user, b""), mark):
            return ""
        if now < self._until:
            return f"too many wrong passwords; the next try in {self._until - now:.0f} s"
        if not hmac.compare_digest(_scrypt(passwd, self._salt), self._hash):
            self._count(now)
            return "wrong password"
        self._right[user] = mark
        if len(self._right) > KEYS:
            del self._right[next(iter(self._right))]
        return ""

    def _count(self, now: float) -> None:
        self._wrong.append(now)
        if len(self._wrong) == TRIES and now - self._wrong[0] <= MINUTE:
            wait = WAIT if now - self._until > LONGEST_WAIT else self._wait
            self._until, self._wait = now + wait, min(LONGEST_WAIT, 2 * wait)
            self._wrong.clear()


def _scrypt(passwd: str, salt: bytes) -> bytes:
    return hashlib.scrypt(passwd.encode(), salt=salt, **COST)


def _parsed(text: str) -> tuple[bytes, bytes]:
    kind, salt, digest = text.split(":")
    parts = bytes.fromhex(salt), bytes.fromhex(digest)
    if (kind, len(parts[0]), len(parts[1])) != ("scrypt", SALT_BYTES, COST["dklen"]):
        raise ValueError("not a hash of ours")
    return parts
