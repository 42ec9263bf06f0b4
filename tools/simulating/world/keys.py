"""What makes a simulated node one with keys? It signs what it says, and dials with its own."""

from __future__ import annotations

from typing import Any

from discovery.state import Sample
from mesh.core.desk.settings import Keyring
from mesh.security.signing import public_key, sign, verify

SECRETS = {"node": b"N" * 32, "client": b"C" * 32, "monitor": b"M" * 32}
IDLE = Sample((100.0,), 8 << 30, 16 << 30)


def seed_of(name: str) -> bytes:
    """Of its Ed25519 key."""
    return name.encode().ljust(32, b".")[:32]


def idle() -> Sample:
    """How each machine is. A node that has none to tell says nothing of itself."""
    return IDLE


def key_settings(name: str) -> dict[str, Any]:
    """For a SimNode."""
    ring = Keyring(
        server="server",
        mine=f"curve of {name}",
        secrets=SECRETS,
        sign=lambda text: sign(seed_of(name), text),
        verify=verify,
    )
    return {"keyring": ring, "key": public_key(seed_of(name)), "secret": SECRETS["node"], "sample": idle}
