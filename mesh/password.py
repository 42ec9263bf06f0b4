"""Checks a password against a scrypt hash, with a limited rate of attempts.

Wrong passwords are counted by public key, so attackers lock out only their own key. A new key costs nothing,
so the wrong passwords of all keys together are rate-limited, too, which delays other keys but locks none out.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from functools import partial

from mesh.errors import BadConfig

COST = {"n": 2**14, "r": 8, "p": 1, "dklen": 32}  # about 40 ms and 16 MiB per attempt
SALT_BYTES = 16
TRIES, MINUTE = 10, 60.0  # wrong passwords per minute and key
WAIT, LONGEST_WAIT = 60.0, 3600.0  # s of lockout: the first, the longest
ALL = 30  # wrong passwords per minute of all keys
KEYS = 4096  # remembered keys, of right and of wrong passwords


def hashed(passwd: str, salt: bytes) -> str:
    """Return a password's hash for a configuration file: "scrypt:SALT:HASH"."""
    return f"scrypt:{salt.hex()}:{_scrypt(passwd, salt).hex()}"


def check_hash(text: str) -> str:
    """Return the password hash if it is well formed. Raises: BadConfig."""
    try:
        _parsed(text)
    except ValueError:
        hint = "`mesh passwd` asks for a password and prints its hash."
        raise BadConfig("The value is not the hash of a password.", hint=hint) from None
    return text


@dataclass(slots=True)
class _Guesses:
    """The wrong passwords of one key."""

    wrong: deque[float] = field(default_factory=partial(deque, maxlen=TRIES))  # times
    until: float = 0.0  # end of the lockout
    wait: float = WAIT

    def add(self, now: float) -> None:
        self.wrong.append(now)
        if len(self.wrong) == TRIES and now - self.wrong[0] <= MINUTE:
            wait = WAIT if now - self.until > LONGEST_WAIT else self.wait
            self.until, self.wait = now + wait, min(LONGEST_WAIT, 2 * wait)
            self.wrong.clear()


class Password:
    """A password, the public keys that have used it successfully, and the wrong attempts by key."""

    def __init__(self, stored: str) -> None:
        self._salt, self._hash = _parsed(stored)
        self._right: dict[str, bytes] = {}  # known keys, which skip scrypt
        self._guesses: OrderedDict[str, _Guesses] = OrderedDict()  # by key, latest last
        self._room = float(ALL)  # wrong passwords still allowed now
        self._filled = 0.0  # time of the last update

    def refusal(self, user: str, passwd: str, now: float) -> str:
        """Return why a password is refused, or "" if it is right.

        A wrong password counts against `user`, the public key of the sender.
        """
        if not passwd:
            return "a password is required"
        mark = hmac.digest(self._salt, passwd.encode(), hashlib.sha256)
        if hmac.compare_digest(self._right.get(user, b""), mark):
            return ""
        if (wait := self._wait(user, now)) > 0:
            return f"too many wrong passwords; retry in {wait:.0f} s"
        if not hmac.compare_digest(_scrypt(passwd, self._salt), self._hash):
            self._count(user, now)
            return "the password is wrong"
        self._right[user] = mark
        if len(self._right) > KEYS:
            del self._right[next(iter(self._right))]
        return ""

    def _wait(self, user: str, now: float) -> float:
        self._room = min(ALL, self._room + ALL * (now - self._filled) / MINUTE)
        self._filled = now
        known = self._guesses.get(user)
        own = known.until - now if known is not None else 0.0
        return max(own, MINUTE / ALL if self._room < 1 else 0.0)

    def _count(self, user: str, now: float) -> None:
        self._room -= 1
        self._guesses.setdefault(user, _Guesses()).add(now)
        self._guesses.move_to_end(user)
        if len(self._guesses) > KEYS:
            self._guesses.popitem(last=False)


def _scrypt(passwd: str, salt: bytes) -> bytes:
    return hashlib.scrypt(passwd.encode(), salt=salt, **COST)


def _parsed(text: str) -> tuple[bytes, bytes]:
    kind, salt, digest = text.split(":")
    parts = bytes.fromhex(salt), bytes.fromhex(digest)
    if (kind, len(parts[0]), len(parts[1])) != ("scrypt", SALT_BYTES, COST["dklen"]):
        raise ValueError("not a password hash of the mesh")
    return parts
