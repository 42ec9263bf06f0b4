"""Builds envelopes that never traveled, for messages made by tests."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable
from typing import Any

from mesh.client.codecs import Codec
from mesh.client.content import as_content, check_destination, flags_of, own_properties
from mesh.errors import BadArgument, BadName
from mesh.names import SessionName, node_name
from mesh.reserved import check_free
from mesh.shortening import shown
from mesh.values import Hop, check_domain, check_key
from mesh.wire.envelope import ERASED, INITIAL, RETRACTED, Envelope

STATES = {"OK": 0, "INITIAL": INITIAL, "ERASED": ERASED, "RETRACTED": RETRACTED}
SENDER = "/node/a/client/test/session/1"


def made(  # noqa: PLR0913
    key: Any,
    content: Any,
    domain: Any,
    headers: Any,
    persistent: Any,
    expiry: Any,
    priority: Any,
    sender: Any,
    to: Any,
    state: Any,
    route: Any,
    codec: Codec,
) -> Envelope:
    """Return an envelope with one message, as a subscriber receives it.

    Raises: BadKey, BadName, BadType, BadArgument, PublishRefused RESERVED.
    """
    is_text = isinstance(content, str)
    content, headers = as_content(content, headers, codec)
    props, expires = own_properties(headers, expiry, priority, time.time_ns, is_text)
    if key != "" or not to:
        check_free(check_key(key))
    if not isinstance(state, str) or state not in STATES:
        hint = f"Use one of {', '.join(STATES)}."
        raise BadArgument(f"state={shown(state)} is invalid.", hint=hint)
    now = time.time_ns()
    return Envelope(
        stream=secrets.token_bytes(16),
        domain=check_free(check_domain("" if domain is None else domain)),
        first=1,
        last=1,
        keys=(key,),
        count=1,
        sizes=len(props) + len(content),
        body=props + content,
        flags=flags_of(persistent) | STATES[state],
        props=len(props),
        sender=_sender(sender),
        sent=now,
        expires=expires,
        route=tuple(Hop(node_name(node), 0, now) for node in _several(route)),
        to=check_destination(to) if to else "",
    )


def _sender(name: Any) -> str:
    if not isinstance(name, str):
        raise BadName(f"A sender must be a name such as {SENDER}, not {shown(name)}.")
    SessionName.parse(name)
    return name


def _several(route: Any) -> Iterable[Any]:
    if isinstance(route, str | bytes) or not isinstance(route, Iterable):
        raise BadArgument(f"route={shown(route)} is invalid.", hint="Use a list of node names.")
    return route
