"""Requests as a node delivers them."""

from __future__ import annotations

from msgspec.structs import replace

from mesh.names import SENDS
from mesh.wire.envelope import REQUEST, Envelope
from tests.mesh.envelopes import envelope


def requests(count: int, first: int = 1, flags: int = REQUEST) -> Envelope:
    made = envelope(" ".join(["k"] * count), first=first)
    return replace(made, domain=SENDS, flags=flags, to="calc/add", keys=("",), index=b"")
