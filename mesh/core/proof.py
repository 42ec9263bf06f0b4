"""Do both ends know the same secret? Answered without ever sending it."""

import hashlib
import hmac

PROOF_BYTES = 32


def hello_text(side: str, asker: bytes, answerer: bytes, where: str) -> bytes:
    """What is proven, and signed. `side`: who does, "dialler" or "listener"; then both nonces, and where."""
    return b"\0".join(
        [b"heronry hello", side.encode(), asker.hex().encode(), answerer.hex().encode(), where.encode()]
    )


def curve_place(dialler: str, server: str) -> str:
    """Where two meet over CURVE: between these public keys (Z85), which nobody in between has."""
    return f"curve {dialler} {server}"


def prove(secret: bytes, side: str, asker: bytes, answerer: bytes, where: str) -> bytes:
    """HMAC of that text. `where`: the endpoint of the listener, or the place over CURVE."""
    return hmac.digest(secret, hello_text(side, asker, answerer, where), hashlib.sha256)


def token(secret: bytes, session: str, stream: bytes) -> bytes:
    """What lets a client take its session up again, at a node that has forgotten it too."""
    return hmac.digest(secret, b"heronry session\0" + session.encode() + b"\0" + stream, hashlib.sha256)


def same(a: bytes, b: bytes) -> bool:
    """Compared in constant time."""
    return hmac.compare_digest(a, b)
