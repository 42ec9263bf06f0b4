"""What is asked why? A node, a topic, a message, an address, a queue, a client or a site."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from mesh.errors import BadArgument, shown
from mesh.names import OTHERS, SessionName, check_asked, check_queue, node_name
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
    """What somebody wants to know the reasons of. `is_start`: by a client of this node, else by another."""

    kind: str
    text: str
    domain: str = ""
    is_start: bool = False

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

    @property
    def site(self) -> str:
        """The site that the name of a client or an address begins with; "" where it has none."""
        if self.kind == CLIENT:
            return self.client.site or ""
        named = self.kind == ADDRESS and self.text.startswith(OTHERS)
        return self.text[len(OTHERS) :].partition("/")[0] if named else ""

    def within(self, site: str) -> What:
        """What is to be asked in this site: of who is in another one how the way there is."""
        if not self.site:
            return self
        if self.site != site:
            return replace(self, kind=SITE, text=self.site)
        rest = self.text[len(OTHERS) + len(site) :]
        return replace(self, text=rest if self.kind == CLIENT else rest[1:])


def session_name(text: str) -> SessionName:
    """The client or session of that name. BadName."""
    return SessionName.parse(text if "/" in text else f"client/{text}")


CHECKS = {
    NODE: node_name,
    TOPIC: check_key,
    MESSAGE: parse_message_id,
    ADDRESS: check_asked,
    QUEUE: check_queue,
    CLIENT: session_name,
    SITE: node_name,
}
