"""What is asked why? A node, a topic, a message, an address, a queue, a client or a site."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from mesh.errors import BadArgument, shown
from mesh.names import SessionName, check_asked, check_taken, node_name
from mesh.values import check_domain, check_key, parse_message_id

KINDS = NODE, TOPIC, MESSAGE, ADDRESS, QUEUE, CLIENT, SITE = (
    "node",
    "topic",
    "message",
    "address",
    "queue",
    "client",
    "site",
)


@dataclass(frozen=True)
class What:
    """A question: of what somebody wants to know the reasons. `is_start`: a client of this node does, else
    another node. `who`: it is asked for the sake of that client or address of another site."""

    kind: str
    text: str
    domain: str = ""
    is_start: bool = False
    who: str = ""

    @classmethod
    def of(cls, kind: str, text: str, domain: str = "", is_start: bool = False) -> What:
        """As it is asked. LocalError for what there cannot be."""
        if kind not in CHECKS:
            raise BadArgument(f"why {shown(kind)}? That is no kind.", hint=f"Kinds are {', '.join(KINDS)}.")
        CHECKS[kind](text)
        return cls(kind, text, check_domain(domain), is_start)

    @cached_property
    def message(self) -> tuple[bytes, str, int]:
        """(stream, domain, number), of a message."""
        return parse_message_id(self.text)

    @cached_property
    def client(self) -> SessionName:
        """The client or session; a bare name is that of a client."""
        return session_name(self.text)


def session_name(text: str) -> SessionName:
    """The client or session of that name. BadName."""
    return SessionName.parse(text if "/" in text else f"client/{text}")


CHECKS = {
    NODE: node_name,
    TOPIC: check_key,
    MESSAGE: parse_message_id,
    ADDRESS: check_asked,
    QUEUE: check_taken,
    CLIENT: session_name,
    SITE: node_name,
}
