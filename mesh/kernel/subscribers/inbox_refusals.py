"""Refusals of direct messages."""

from __future__ import annotations

from mesh.errors import NotConnected, PublishRefused
from mesh.names import DEFAULT_NAME, SessionName


def not_connected(
    to: SessionName, visitor: SessionName | None, unnamed: str, has_other_key: bool, is_expected: bool
) -> NotConnected:
    """Return the refusal of a message to a session or client that is not connected.

    `visitor` is the name of such a client of another node that is connected here, and `unnamed` a connected
    session of a client with a default name, or "". `is_expected` means that the addressee may be moving, so
    that a persistent message would wait.
    """
    if visitor is not None:
        text = f"{to} is not connected; {visitor} is, and keeps the node of its name when it moves."
        return NotConnected(text, hint=f"Send to {visitor}.")
    if has_other_key:
        text = f"{to} is connected only with a key other than that of its inbox."
    elif unnamed:
        text = f"{to} is connected {DEFAULT_NAME}, which has no inbox."
        hint = f"Connect the client with client={to.client!r}, or send to its session: {unnamed}."
        return NotConnected(text, hint=hint)
    elif is_expected:
        text = f"{to} may be moving to another node: only persistent messages wait for it."
        return NotConnected(text, hint="Send with persistent=True or force_queuing=True.")
    else:
        text = f"{to} is not connected."
    return NotConnected(text, hint="To queue the message: force_queuing=True.")


def full(name: str, waiting: int, size: int, most: int, node: str) -> PublishRefused:
    """Return the refusal of `size` bytes for an inbox with `waiting` bytes, which may have `most`.

    `node` is the name of the node if all its inboxes together are full, otherwise "".
    """
    text = f"The inbox of {name} is full: {waiting:,} bytes wait."
    hint = "The client must read its inbox()."
    if node:
        text = f"The inboxes of {node} are full; that of {name} has messages."
    elif not waiting:
        text = f"{size:,} bytes do not fit into the empty inbox of {name}; the limit is {most:,} bytes."
        hint = "Send the content in parts, or raise `limits.backlog_bytes` of that node."
    return PublishRefused(text, hint=hint, code="INBOX_FULL")
