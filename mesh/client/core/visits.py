"""The nodes that hold something of a client's session, as the client moves from node to node."""

# Law 1: each visit has a higher attach number than all before, and is signed for the visited node.
# Law 2: a node stays in the list of former nodes until the visited node has released it.

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from mesh.client.core.calls import Calls, Pending
from mesh.proof import attach_text
from mesh.security.streamkey import StreamKey
from mesh.wire import commands as c
from mesh.wire.calls import AskAttach, arguments
from mesh.wire.limits import VISITS

FORMER = 8  # former nodes at most; the oldest is given up


T = TypeVar("T")


def former_nodes(former: Iterable[T], last: T, visited: T) -> list[T]:
    """Return the former nodes, the oldest first, of a client that goes from the node `last` to another."""
    return [node for node in dict.fromkeys((*former, last)) if node != visited][-FORMER:]


class ClientVisits:
    """The visits of one client: its current node, its former nodes, and the last certificate.

    `numbers()` returns the numbers of the subscriptions that the client repeats next.
    """

    def __init__(self, calls: Calls, key: StreamKey, numbers: Callable[[], list[int]]) -> None:
        self.former: dict[bytes, None] = {}  # oldest first
        self._calls = calls
        self._key = key
        self._numbers = numbers
        self._place = (b"", 0)  # uuid and boot of the last node
        self._certificate: c.Certificate | None = None
        self._pending: Pending | None = None

    @property
    def attach(self) -> int:
        """The number of the last visit; 0 without one."""
        return self._certificate.attach if self._certificate is not None else 0

    @property
    def is_moving(self) -> bool:
        """True until all former nodes have been released."""
        return bool(self.former)

    def on_welcome(self, node: c.Introduction, session: str, words: frozenset[str]) -> None:
        """Attach to the node of a WELCOME if the session was at another one.

        A new process of a visited node counts as a visit, since it lost what it was resuming.
        """
        place, last = (node.uuid, node.boot), self._place
        self._place = place
        if VISITS not in words or not last[0]:
            return
        is_visit = node.uuid != last[0] or (place != last and self._certificate is not None)
        if is_visit:
            self.former = dict.fromkeys(former_nodes(self.former, last[0], node.uuid))
            attach = self.attach + 1
            signature = self._key.sign(attach_text(session, attach, node.uuid))
            self._certificate = c.Certificate(session, self._key.public, attach, node.uuid, signature)
        if is_visit or self.former:
            self._attach(is_visit)

    def _attach(self, is_visit: bool) -> None:
        """Ask the node to take over the session. It answers when the former nodes are released."""
        if self._pending is not None:
            self._calls.drop_pending(self._pending)
        assert self._certificate is not None
        ask = AskAttach(
            certificate=self._certificate,
            former=list(self.former),
            subscriptions=self._numbers() if is_visit else [],
        )
        self._pending = self._calls.send_command(
            lambda request: c.Call(request, ask.verb, arguments(ask)), self.former.clear
        )
