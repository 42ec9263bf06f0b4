"""Is this the password? Compared with a scrypt hash, and not for ever with whoever guesses."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from mesh.errors import BadConfig

COST = {"n": 2**14, "r": 8, "p": 1, "dklen": 32}  # about 40 ms and 16 MiB a try
SALT_BYTES = 16
TRIES, MINUTE = 10, 60.0  # wrong ones a minute, of one key
WAIT, LONGEST_WAIT = 60.0, 3600.0  # s without another try after that, doubled each time
KEYS = 4096  # remembered, of who was right and of who was wrong


def hashed(passwd: str, salt: bytes) -> str:
    """What a configuration file may hold: "scrypt:SALT:HASH"."""
    return f"scrypt:{salt.hex()}:{_scrypt(passwd, salt).hex()}"


def check_hash(text: str) -> str:
    """The hash as it is; BadConfig when it is none."""
    try:
        _parsed(text)
    except ValueError:
        hint = "`mesh passwd` asks for a password and prints its hash."
        raise BadConfig("node.passwd is no hash of a password.", hint=hint) from None
    return text


@dataclass(slots=True)
class _Guesser:
    wrong: int = 0
    since: float = 0.0  # of the first of these
    until: float = 0.0  # no try before
    wait: float = WAIT


class Password:
    """One password, and who has told it, by public key."""

    def __init__(self, stored: str) -> None:
        self._salt, self._hash = _parsed(stored)
        self._right: dict[str, bytes] = {}  # so that a connection more costs no scrypt
        self._guessers: dict[str, _Guesser] = {}

    def refuse(self, user: str, passwd: str, now: float) -> str:
        """ "" if it is right, else why not."""
        guesser = self._guessers.get(user)
        if guesser is not None and now < guesser.until:
            return f"too many wrong passwords; the next try in {guesser.until - now:.0f} s"
        if not passwd:
            return "it wants a password"
        mark = hmac.digest(self._salt, passwd.encode(), hashlib.sha256)
        if hmac.compare_digest(self._right.get(user, b""), mark):
            return ""
        if not hmac.compare_digest(_scrypt(passwd, self._salt), self._hash):
            self._count(user, now)
            return "wrong password"
        self._guessers.pop(user, None)
        self._right[user] = mark
        _bound(self._right)
        return ""

    def _count(self, user: str, now: float) -> None:
        guesser = self._guessers.setdefault(user, _Guesser(since=now))
        _bound(self._guessers)
        if now - guesser.since > MINUTE:
            guesser.wrong, guesser.since = 0, now
        guesser.wrong += 1
        if guesser.wrong >= TRIES:
            guesser.wrong, guesser.until = 0, now + guesser.wait
            guesser.wait = min(LONGEST_WAIT, 2 * guesser.wait)


def _scrypt(passwd: str, salt: bytes) -> bytes:
    return hashlib.scrypt(passwd.encode(), salt=salt, **COST)


def _parsed(text: str) -> tuple[bytes, bytes]:
    kind, salt, digest = text.split(":")
    parts = bytes.fromhex(salt), bytes.fromhex(digest)
    if (kind, len(parts[0]), len(parts[1])) != ("scrypt", SALT_BYTES, COST["dklen"]):
        raise ValueError("not a hash of ours")
    return parts


def _bound(table: dict[str, bytes] | dict[str, _Guesser]) -> None:
    if len(table) > KEYS:
        del table[next(iter(table))]
