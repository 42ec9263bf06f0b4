"""Builds the message that reports a retained value that lost a conflict between sites."""

from __future__ import annotations

from typing import NamedTuple

from mesh.errors import MessageTooLarge, RemoteError
from mesh.kernel.forwarding.deadletters import DeadLetterContents
from mesh.routing.retained_value import RetainedValue
from mesh.values import Headers, message_id
from mesh.wire.envelope import PERSISTENT
from mesh.wire.properties import NO_PROPERTIES, Properties, decode_properties, encode_properties


class LostValue(NamedTuple):
    """A retained value that lost, and the value that stays in its place."""

    value: RetainedValue
    winner: RetainedValue


def letter_of(lost: LostValue, here: str) -> DeadLetterContents:
    """Return the contents to publish for a losing value: its own headers, and headers about both values.

    `here` is the name of this site. The own headers are left out if they cannot be read, or if all headers
    together are too large.
    """
    value, winner = lost
    e, w = value.envelope, winner.envelope
    own, content = value.data[: value.props], value.data[value.props :]
    name = message_id(e.stream, e.domain, value.number)
    told = [
        ("conflict-id", name),
        ("conflict-site", value.site(here)),
        ("conflict-sent", str(e.sent)),
        ("conflict-sender", e.sender),
        ("conflict-key", value.key),
        ("conflict-domain", e.domain),
        ("conflict-winner-id", message_id(w.stream, w.domain, winner.number)),
        ("conflict-winner-site", winner.site(here)),
        ("conflict-winner-sent", str(w.sent)),
        ("conflict-winner-sender", w.sender),
    ]
    try:
        before = decode_properties(own)
    except RemoteError:
        before = NO_PROPERTIES
    try:
        headers = Headers([*told, *before.headers.items()])
        props = encode_properties(Properties(headers, is_text=before.is_text))
    except MessageTooLarge:
        props = encode_properties(Properties(Headers(told), is_text=before.is_text))
    return DeadLetterContents(name, value.key, props, content, e.flags & PERSISTENT, ())
