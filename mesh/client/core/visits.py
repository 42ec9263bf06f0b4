"""The nodes that hold something of a client's session, as the client moves from node to node."""

# Law 1: each visit has a higher attach number than all before, and is signed for the visited node.
# Law 2: a node stays in the list of former nodes until the visited node has released it.
# Law 3: a session does not leave its site. A client has one in each site that it was in.
# Law 4: until ATTACH is answered, another one that names all subscriptions follows each WELCOME, as the last
#        one may be lost.

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from mesh.client.core.calls import Calls, Pending
from mesh.proof import attach_text
from mesh.security.streamkey import StreamKey
from mesh.wire import commands as c
from mesh.wire.calls import AskAttach, arguments
from mesh.wire.limits import VISITS

FORMER = 8  # former nodes at most; the oldest is given up
Counts = list[tuple[int, int]]  # numbers of subscriptions, and their items

T = TypeVar("T")


def former_nodes(former: Iterable[T], last: T, visited: T) -> list[T]:
    """Return the former nodes, the oldest first, of a client that goes from the node `last` to another."""
    return [node for node in dict.fromkeys((*former, last)) if node != visited][-FORMER:]


@dataclass(slots=True)
class SiteVisits:
    """The visits of one client in one site: its former nodes, last node, and last certificate."""

    former: dict[bytes, Counts] = field(default_factory=dict)  # items by subscription, oldest node first
    place: tuple[bytes, int] = (b"", 0)  # uuid and boot of the last node
    certificate: c.Certificate | None = None
    is_moving: bool = False  # ATTACH is not answered


class ClientVisits:
    """The visits of one client: its current node, its former nodes, and the last certificate.

    `received()` returns the numbers of the subscriptions that the client repeats next, each with the number
    of items from the last node.
    """

    def __init__(self, calls: Calls, key: StreamKey, received: Callable[[], Counts]) -> None:
        self._here = SiteVisits()
        self._sites: dict[str, SiteVisits] = {"": self._here}
        self._calls = calls
        self._key = key
        self._received = received
        self._pending: Pending | None = None
        self._first = 0  # number of the visit at the first node; 0: that is none

    @property
    def former(self) -> dict[bytes, Counts]:
        """The former nodes in this site, oldest first, each with the received items by subscription."""
        return self._here.former

    @property
    def certificate(self) -> c.Certificate | None:
        """The proof of the last visit in this site, or None without one."""
        return self._here.certificate

    @property
    def attach(self) -> int:
        """The number of the last visit in this site; 0 without one."""
        certificate = self._here.certificate
        return certificate.attach if certificate is not None else 0

    @property
    def is_moving(self) -> bool:
        """True until the node has taken over the session, and all former nodes have been released."""
        return self._here.is_moving

    def begin_at(self, attach: int) -> None:
        """Count the first node as a visit with this number, above those of earlier clients of the session."""
        self._first = attach

    def on_welcome(self, node: c.Introduction, session: str, words: frozenset[str], site: str = "") -> bool:
        """Attach to the node of a WELCOME if the session was at another one, and return whether it was.

        A new process of a visited node counts as a visit, since it lost what it was resuming.
        """
        self._enter(site)
        here, place = self._here, (node.uuid, node.boot)
        last, here.place = here.place, place
        if VISITS not in words or not (last[0] or self._first):
            return False
        is_visit = node.uuid != last[0] or (place != last and here.certificate is not None)
        if is_visit:
            if last[0]:
                counts = {**here.former, last[0]: self._received()}
                former = former_nodes(here.former, last[0], node.uuid)
                here.former = {uuid: counts[uuid] for uuid in former}
            attach = max(self.attach + 1, self._first)
            signature = self._key.sign(attach_text(session, attach, node.uuid))
            here.certificate = c.Certificate(session, self._key.public, attach, node.uuid, signature)
            here.is_moving = True
        if here.is_moving:
            self._attach(here)
        return is_visit

    def _enter(self, site: str) -> None:
        """Continue the visits in a site. A question to another site is dropped."""
        here = self._sites.setdefault(site, SiteVisits())
        if here is not self._here and self._pending is not None:
            self._calls.drop_pending(self._pending)
            self._pending = None
        self._here = here

    def _attach(self, here: SiteVisits) -> None:
        """Ask the node to take over the session. It answers when the former nodes are released."""
        if self._pending is not None:
            self._calls.drop_pending(self._pending)
        assert here.certificate is not None
        ask = AskAttach(
            certificate=here.certificate,
            former=list(here.former),
            subscriptions=[number for number, _ in self._received()],
            received=list(here.former.values()),
        )
        self._pending = self._calls.send_command(
            lambda request: c.Call(request, ask.verb, arguments(ask)), partial(_on_attached, here)
        )


def _on_attached(here: SiteVisits) -> None:
    here.is_moving = False
    here.former.clear()
