"""How is a message shown, so that no content can harm a terminal or a script?"""

import base64
import json
from typing import Any

from mesh.client.message import GONE, Message
from mesh.printable import harmless


def line(message: Message) -> bytes:
    """Key and content as one line of text; what cannot be printed is escaped."""
    said = f"({message.state.lower()})" if message.state in GONE else printable(message.content)
    return f"{harmless(message.key)}  {said}\n".encode()


def line_of_subscriber(message: Message) -> bytes:
    """As `line`, marked if it is a retained value, which was there before."""
    text = line(message)
    return text if message.state != "INITIAL" else text.removesuffix(b"\n") + b"  (retained)\n"


def letter(message: Message) -> bytes:
    """A message to a session, as a line: sender, key if there is one, content."""
    key = f"{harmless(message.key)}  " if message.key else ""
    return f"{harmless(message.sender)}  {key}{printable(message.content)}\n".encode()


def raw_line(message: Message) -> bytes:
    """The content as it is."""
    return message.content + b"\n"


def printable(content: bytes) -> str:
    """As text that stays within its line."""
    return harmless(content.decode("utf-8", "backslashreplace"))


def json_line(message: Message) -> bytes:
    return json.dumps(described(message)).encode() + b"\n"


def described(message: Message) -> dict[str, Any]:
    """All that is known of it. Times in ns since 1970; content as base64 where it is not text."""
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
    """As `described`, and where it was found: the node, and the seconds for which that lacks its master."""
    return {**described(message), "source": message.source, "stale": message.stale}


def _as_text(content: bytes) -> tuple[str, bool]:
    try:
        return content.decode(), True
    except UnicodeDecodeError:
        return base64.b64encode(content).decode(), False
