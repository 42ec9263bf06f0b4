"""Formats messages for a terminal or a script. Only `raw_line` leaves unsafe characters as they are."""

import base64
import json
from typing import Any

from mesh.client.message import GONE, Message
from mesh.printable import harmless


def line(message: Message) -> bytes:
    """Return key and content as one line of text, with control characters escaped.

    For an erased or retracted message, the state replaces the content.
    """
    said = f"({message.state.lower()})" if message.state in GONE else printable(message.content)
    return f"{harmless(message.key)}  {said}\n".encode()


def line_of_subscriber(message: Message) -> bytes:
    """Return `line`, with a mark for a retained value."""
    text = line(message)
    return text if message.state != "INITIAL" else text.removesuffix(b"\n") + b"  (retained)\n"


def letter(message: Message) -> bytes:
    """Return a direct message as a line: sender, key if there is one, content."""
    key = f"{harmless(message.key)}  " if message.key else ""
    return f"{harmless(message.sender)}  {key}{printable(message.content)}\n".encode()


def raw_line(message: Message) -> bytes:
    """Return the content unchanged, with a newline."""
    return message.content + b"\n"


def printable(content: bytes) -> str:
    """Return the content as text, with control characters and invalid UTF-8 escaped."""
    return harmless(content.decode("utf-8", "backslashreplace"))


def json_line(message: Message) -> bytes:
    return json.dumps(described(message)).encode() + b"\n"


def described(message: Message) -> dict[str, Any]:
    """Return all fields of a message. Times are in ns since 1970; content that is not UTF-8 is in base64."""
    content, is_text = _as_text(message.content)
    return {
        "key": message.key,
        "domain": message.domain,
        "content": content,
        "base64": not is_text,
        "headers": [list(pair) for pair in message.headers.items()],
        "id": message.id,
        "state": message.state,
        "sender": message.sender,
        "to": message.to,
        "route": [hop.node for hop in message.route],
        "sent": message.sent,
        "persistent": message.persistent,
        "provisional": message.provisional,
        "priority": message.priority,
        "expires": message.expires,
    }


def described_found(message: Message) -> dict[str, Any]:
    """Return `described` with the node that had the value, and the seconds since its master was reachable."""
    return {**described(message), "source": message.source, "stale": message.stale}


def _as_text(content: bytes) -> tuple[str, bool]:
    try:
        return content.decode(), True
    except UnicodeDecodeError:
        return base64.b64encode(content).decode(), False
