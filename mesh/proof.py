"""Proofs of a shared secret that is never sent, texts to sign, stream ids, and session tokens."""

import hashlib
import hmac

PROOF_BYTES = 32
STREAM, STREAM_KEY = 16, 32  # bytes: a stream id, its public key


def hello_text(side: str, asker: bytes, answerer: bytes, where: str, process: bytes = b"") -> bytes:
    """Return the text of a proof or signature.

    `side` is "dialler", "listener", "refuser" or "stream". The text has both nonces, the endpoint, and the
    process of a node if it is given.
    """
    parts = [side.encode(), asker.hex().encode(), answerer.hex().encode(), where.encode()]
    return b"\0".join([b"heronry hello", *parts, *([process.hex().encode()] if process else [])])


def curve_place(dialler: str, server: str) -> str:
    """Return the endpoint of a CURVE connection: its public keys (Z85), which no proxy can imitate."""
    return f"curve {dialler} {server}"


def prove(secret: bytes, side: str, asker: bytes, answerer: bytes, where: str, process: bytes = b"") -> bytes:
    """Return the HMAC of `hello_text`. `where` is the listener's endpoint, or that of `curve_place`."""
    return hmac.digest(secret, hello_text(side, asker, answerer, where, process), hashlib.sha256)


def stream_of(key: bytes) -> bytes:
    """Return the stream id for an Ed25519 public key. Finding another key for it is infeasible."""
    return hashlib.sha256(b"heronry stream" + key).digest()[:STREAM]


def erasing_stream(stream: bytes) -> bytes:
    """Return the stream id of the erasures by the session whose messages have `stream`."""
    return hashlib.sha256(b"erase" + stream).digest()[:STREAM]


def stream_text(asker: bytes, answerer: bytes, where: str, uuid: bytes) -> bytes:
    """Return the text that a client signs with its stream's key, for this connection and node."""
    return hello_text("stream", asker, answerer, where) + b"\0" + uuid.hex().encode()


def attach_text(session: str, attach: int, node: bytes) -> bytes:
    """Return the text that a client signs with its stream's key when its session moves to `node`."""
    return b"\0".join([b"heronry attach", session.encode(), str(attach).encode(), node.hex().encode()])


def token(secret: bytes, session: str, stream: bytes) -> bytes:
    """Return a token that lets a client resume its session even at a node that forgot the session."""
    return hmac.digest(secret, b"heronry session\0" + session.encode() + b"\0" + stream, hashlib.sha256)


def sealed(seal: bytes, text: bytes) -> bytes:
    """Return an HMAC in place of a signature, for a mesh without keys; empty without a seal.

    Only the owner of the data directory can verify the HMAC, and no other process needs to.
    """
    return hmac.digest(seal, text, hashlib.sha256) if seal else b""


def same(a: bytes, b: bytes) -> bool:
    return hmac.compare_digest(a, b)
