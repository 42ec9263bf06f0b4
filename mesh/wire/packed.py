"""Many envelopes behind one command: one frame with all headers, then the bodies end to end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from mesh.errors import RemoteError
from mesh.wire.codec import pack, reader
from mesh.wire.envelope import Envelope, decode
from mesh.wire.limits import FRAME, TRANSACTION_BYTES_EVER

_read_headers = reader(tuple[bytes, ...], FRAME)


class PackedEnvelopes:
    """Envelopes that are written to the wire as if they were one."""

    def __init__(self, envelopes: Iterable[Envelope]) -> None:
        self.envelopes = tuple(envelopes)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(len(envelope.body) for envelope in self.envelopes)

    def header(self) -> bytes:
        return pack([envelope.header() for envelope in self.envelopes])

    @property
    def body(self) -> bytes:
        return b"".join(envelope.body for envelope in self.envelopes)


def unpack_envelopes(sizes: Sequence[int], frames: Sequence[bytes], max_content: int) -> list[Envelope]:
    """Return the envelopes in `frames`, whose bodies have these `sizes`. Raises: RemoteError."""
    headers, body = _read_headers(frames[0]), b"".join(frames[1:])
    if len(headers) != len(sizes) or sum(sizes) != len(body):
        what = f"{len(headers)} headers and {len(body)} bytes follow, not {len(sizes)} and {sum(sizes)}"
        raise RemoteError(f"the envelopes of a command are cut: {what}", code="MALFORMED")
    if len(body) > TRANSACTION_BYTES_EVER:
        what = f"the bodies of a command have {len(body)} bytes; the limit is {TRANSACTION_BYTES_EVER}"
        raise RemoteError(what, code="TOO_LARGE")
    ends = [*accumulate(sizes, initial=0)]
    bodies = (body[start:end] for start, end in pairwise(ends))
    return [decode(header, each, max_content) for header, each in zip(headers, bodies, strict=True)]
