"""Replies: from one envelope of whoever serves an address to those who asked."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec.structs import replace

from mesh.errors import RemoteError
from mesh.names import SENDS
from mesh.wire.envelope import REPLY, Envelope, as_ranges
from mesh.wire.properties import Properties, decode_properties, encode_properties

ReplyPlace = tuple[int, int]  # number of a request, and the place of its reply in the envelope


def replies(
    contents: Envelope, pairs: Iterable[ReplyPlace], stream: bytes, to: str, sender: str, sent: int
) -> Iterator[Envelope]:
    """The envelopes that answer requests of one stream: as a rule one, with the body untouched."""
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
    """Cut where the places do not rise: an envelope can only be cut in its order."""
    cuts = [0, *(i + 1 for i, (a, b) in enumerate(pairwise(pairs)) if b[1] <= a[1]), len(pairs)]
    for start, end in pairwise(cuts):
        yield list(pairs[start:end])


def _listed(numbers: Sequence[int]) -> tuple[int, ...]:
    """As an envelope says them: not at all where none is missing, as a rule."""
    return () if numbers[-1] - numbers[0] + 1 == len(numbers) else as_ranges(numbers)


def refusal(stream: bytes, numbers: Sequence[int], to: str, code: str, text: str) -> Envelope:
    """The mesh's own reply to these requests, in rising order: each is refused for the same reason."""
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
    """The codes of those of these replies that are refusals, and of those that nobody can read."""
    if not e.props:
        return []
    return [code for place in places if (code := _code(e.message(place)[0]))]


def _code(properties: bytes) -> str:
    try:
        return decode_properties(properties).code
    except RemoteError as error:
        return error.code
