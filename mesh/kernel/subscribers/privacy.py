"""Decides which clients may read a dead letter.

The dead letter of a message for a single receiver may be read by the owner of the receiver's inbox, by the
session that sent the message, and by clients with the secret of a node. A message for a topic or a queue has
no single receiver, so any client may read its dead letter.
"""

from __future__ import annotations

from array import array

from msgspec.structs import replace

from mesh.errors import BadName, RemoteError
from mesh.kernel.context.conn import NODE
from mesh.kernel.subscribers.owners import user_of
from mesh.kernel.subscribers.session import Session
from mesh.names import QUEUE, kind_of
from mesh.reserved import DEAD, OWNER, PRIVATE
from mesh.values import Headers, parse_message_id
from mesh.wire.envelope import Envelope
from mesh.wire.properties import Properties, decode_properties, encode_properties

SHOWN = ("dead-code", "dead-id")  # headers that remain visible


def as_seen_by(session: Session, envelope: Envelope) -> Envelope:
    """Return the envelope as a client may see it; from some dead letters all but id and code are removed."""
    is_node = session.conn is not None and session.conn.grant == NODE
    if is_node or not envelope.keys[0].startswith(DEAD):
        return envelope
    headers = _headers(envelope)
    if headers is not None and (_was_for_all(headers.get("dead-to")) or _is_of(session, headers)):
        return envelope
    return _closed(envelope, headers or Headers())


def _was_for_all(to: str | None) -> bool:
    return to is not None and (to == "" or kind_of(to) == QUEUE)


def _headers(envelope: Envelope) -> Headers | None:
    if envelope.count != 1:
        return None
    try:
        return decode_properties(envelope.message(0)[0]).headers
    except RemoteError:
        return None


def _is_of(session: Session, headers: Headers) -> bool:
    try:
        stream, _, _ = parse_message_id(headers.get("dead-id", ""))
    except BadName:
        return False
    user = user_of(session)
    return stream == session.stream or (user != "" and headers.get(OWNER) == user)


def _closed(e: Envelope, headers: Headers) -> Envelope:
    """Return the envelope with empty messages, each with only the SHOWN headers and a note."""
    said = [(name, headers[name]) for name in SHOWN if name in headers]
    own = encode_properties(Properties(Headers([*said, (PRIVATE, "the message had one receiver")])))
    return replace(
        e, sizes=len(own), props=array("I", [len(own)] * e.count).tobytes(), body=own * e.count, expires=0
    )
