"""A question for reasons, such as one about a node, topic, message, queue or lock."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from mesh.errors import BadArgument, BadName
from mesh.names import SessionName, check_asked, check_taken, node_name
from mesh.shortening import shown
from mesh.values import check_domain, check_key, parse_message_id
from mesh.wire.calls.prepared import XID

KINDS = NODE, TOPIC, MESSAGE, ADDRESS, QUEUE, CLIENT, SITE, LOCK, MAP, COUNTER, TX = (
    "node",
    "topic",
    "message",
    "address",
    "queue",
    "client",
    "site",
    "lock",
    "map",
    "counter",
    "tx",
)


@dataclass(frozen=True)
class What:
    """A question for the reasons why an object is in its current state.

    `is_start`: the question comes from a client of this node, not from another node. `who`: the client or
    address in another site that the original question was about.
    """

    kind: str
    text: str
    domain: str = ""
    is_start: bool = False
    who: str = ""

    @classmethod
    def of(cls, kind: str, text: str, domain: str = "", is_start: bool = False) -> What:
        if kind not in CHECKS:
            raise BadArgument(f"Unknown kind {shown(kind)}.", hint=f"Use one of {', '.join(KINDS)}.")
        checked = CHECKS[kind](text)
        if isinstance(checked, SessionName) and "/" in text:
            text = str(checked)  # nodes of earlier releases know no other form
        return cls(kind, text, check_domain(domain), is_start)

    @cached_property
    def message(self) -> tuple[bytes, str, int]:
        """The stream, domain and number of the message; for a question about a message only."""
        return parse_message_id(self.text)

    @cached_property
    def client(self) -> SessionName:
        """The client or session, for a question about a client only; a bare name is a client's."""
        return session_name(self.text)


def session_name(text: str) -> SessionName:
    """Return the client or session named `text`, such as `joe`, `joe/1` or `client/joe`. Raises: BadName."""
    return SessionName.typed(text if text.startswith(("client/", "/")) else f"client/{text}")


def _transaction_name(text: str) -> str:
    """Return the name of a prepared transaction, such as `heron/xid-17`. Raises: BadName."""
    node, _, name = text.partition("/")
    if not name or "/" in name or len(name) > XID or not name.isprintable():
        raise BadName(f"{shown(text)} names no transaction.", hint="A name is NODE/NAME: see `mesh tx ls`.")
    node_name(node)
    return text


CHECKS = {
    NODE: node_name,
    TOPIC: check_key,
    MESSAGE: parse_message_id,
    ADDRESS: check_asked,
    QUEUE: check_taken,
    CLIENT: session_name,
    SITE: node_name,
    LOCK: check_key,
    MAP: check_key,
    COUNTER: check_key,
    TX: _transaction_name,
}
