"""Builds the reply envelopes for the requesters from one envelope of a service."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec.structs import replace

from mesh.errors import RemoteError
from mesh.names import SENDS
from mesh.wire.envelope import REPLY, Envelope, as_ranges
from mesh.wire.properties import Properties, decode_properties, encode_properties

ReplyPlace = tuple[int, int]  # number of a request, index of its reply


def replies(
    contents: Envelope, pairs: Iterable[ReplyPlace], stream: bytes, to: str, sender: str, sent: int
) -> Iterator[Envelope]:
    """Yield the replies to requests of one stream: usually one envelope, with the body unchanged."""
    for run in _rising(sorted(pairs)):
        numbers = [number for number, _ in run]
        piece = contents.cut([place for _, place in run])
        yield replace(
            piece,
            stream=stream,
            domain=SENDS,
            first=numbers[0],
            last=numbers[-1],
            numbers=_listed(numbers),
            keys=("",),
            index=b"",
            flags=REPLY,
            low=1,
            sender=sender,
            sent=sent,
            expires=0,
            route=(),
            to=to,
        )


def _rising(pairs: Sequence[ReplyPlace]) -> Iterator[list[ReplyPlace]]:
    """Yield the pairs in runs of rising indices, because an envelope can only be cut in order."""
    cuts = [0, *(i + 1 for i, (a, b) in enumerate(pairwise(pairs)) if b[1] <= a[1]), len(pairs)]
    for start, end in pairwise(cuts):
        yield list(pairs[start:end])


def _listed(numbers: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers as an envelope lists them: empty if none is missing, the usual case."""
    return () if numbers[-1] - numbers[0] + 1 == len(numbers) else as_ranges(numbers)


def refusal(stream: bytes, numbers: Sequence[int], to: str, code: str, text: str) -> Envelope:
    """Return the mesh's own reply that refuses the requests with these ascending `numbers`."""
    props = encode_properties(Properties(code=code))
    content = props + text.encode(errors="replace")
    return Envelope(
        stream=stream,
        domain=SENDS,
        first=numbers[0],
        last=numbers[-1],
        keys=("",),
        count=len(numbers),
        sizes=len(content),
        body=content * len(numbers),
        props=array("I", [len(props)] * len(numbers)).tobytes(),
        flags=REPLY,
        numbers=_listed(numbers),
        to=to,
    )


def codes(e: Envelope, places: Sequence[int]) -> list[str]:
    """Return the codes of the replies that are refusals or cannot be decoded."""
    if not e.props:
        return []
    return [code for place in places if (code := _code(e.message(place)[0]))]


def _code(properties: bytes) -> str:
    try:
        return decode_properties(properties).code
    except RemoteError as error:
        return error.code
