"""Do both ends know the same secret? Answered without ever sending it."""

import hashlib
import hmac

PROOF_BYTES = 32


def prove(secret: bytes, role: str, asker: bytes, answerer: bytes, endpoint: str) -> bytes:
    """HMAC over both nonces, the role of who proves ("dialler" or "listener") and where they met."""
    text = b"\0".join(
        [b"heronry hello", role.encode(), asker.hex().encode(), answerer.hex().encode(), endpoint.encode()]
    )
    return hmac.digest(secret, text, hashlib.sha256)


def token(secret: bytes, session: str, stream: bytes) -> bytes:
    """What lets a client take its session up again, at a node that has forgotten it too."""
    return hmac.digest(secret, b"heronry session\0" + session.encode() + b"\0" + stream, hashlib.sha256)


def same(a: bytes, b: bytes) -> bool:
    """Compared in constant time."""
    return hmac.compare_digest(a, b)
