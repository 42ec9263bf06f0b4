"""Do both ends know the same secret? Answered without ever sending it."""

import hashlib
import hmac

PROOF_BYTES = 32
STREAM, STREAM_KEY = 16, 32  # bytes of a stream id, and of the public key that it is named after


def hello_text(side: str, asker: bytes, answerer: bytes, where: str, process: bytes = b"") -> bytes:
    """The text that is proven, and signed. `side`: who does, "dialler", "listener" or "refuser"; then both
    nonces, where, and which process of a node it is, if that is told."""
    parts = [side.encode(), asker.hex().encode(), answerer.hex().encode(), where.encode()]
    return b"\0".join([b"heronry hello", *parts, *([process.hex().encode()] if process else [])])


def curve_place(dialler: str, server: str) -> str:
    """The place where two meet over CURVE: between these public keys (Z85), which nobody in between has."""
    return f"curve {dialler} {server}"


def prove(secret: bytes, side: str, asker: bytes, answerer: bytes, where: str, process: bytes = b"") -> bytes:
    """HMAC of that text. `where`: the endpoint of the listener, or the place over CURVE."""
    return hmac.digest(secret, hello_text(side, asker, answerer, where, process), hashlib.sha256)


def stream_of(key: bytes) -> bytes:
    """The stream id that is named after this public Ed25519 key; nobody finds another key for it."""
    return hashlib.sha256(b"heronry stream" + key).digest()[:STREAM]


def stream_text(asker: bytes, answerer: bytes, where: str, uuid: bytes) -> bytes:
    """The text that a client signs with the key of its stream: good on this connection, at this node."""
    return hello_text("stream", asker, answerer, where) + b"\0" + uuid.hex().encode()


def token(secret: bytes, session: str, stream: bytes) -> bytes:
    """A proof that lets a client take its session up again, at a node that has forgotten it too."""
    return hmac.digest(secret, b"heronry session\0" + session.encode() + b"\0" + stream, hashlib.sha256)


def sealed(seal: bytes, text: bytes) -> bytes:
    """In place of a signature, where there are no keys: only who has the data directory can tell whether
    it is right, and nobody else needs to. Empty without a seal."""
    return hmac.digest(seal, text, hashlib.sha256) if seal else b""


def same(a: bytes, b: bytes) -> bool:
    """Compared in constant time."""
    return hmac.compare_digest(a, b)
