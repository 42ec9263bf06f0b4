"""A message of an envelope, as a filter sees it."""

from __future__ import annotations

from msgspec import Struct

from mesh.wire.envelope import Envelope
from mesh.wire.properties import decode_properties


class FilterInput(Struct, frozen=True):
    """Message `i` of an envelope. Its properties were checked when it was accepted."""

    envelope: Envelope
    i: int

    @property
    def key(self) -> str:
        return self.envelope.keys[self.envelope.row(self.i)]

    @property
    def domain(self) -> str:
        return self.envelope.domain

    @property
    def content(self) -> bytes:
        return self.envelope.message(self.i)[1]

    def header(self, name: str) -> str | None:
        return decode_properties(self.envelope.message(self.i)[0]).headers.get(name)
