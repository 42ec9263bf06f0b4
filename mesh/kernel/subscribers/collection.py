"""A visiting session's inbox, as the visited node collects it from the home."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mesh.errors import RemoteError
from mesh.kernel.routes.peer_calls import PeerReply
from mesh.kernel.subscribers.session import Session
from mesh.routing.collecting import CollectedItems
from mesh.routing.inbox import Inbox
from mesh.wire.calls import AskCollect
from mesh.wire.commands import Certificate
from mesh.wire.replies import Collected


@dataclass(slots=True, eq=False)
class Collection:
    """The inbox of a visiting session, until it is closed or the session leaves.

    Until the client opens it, the questions only report that the session is connected.
    """

    session: Session
    feed: Inbox
    home: str
    run: bytes
    is_open: bool = False
    items: CollectedItems = field(default_factory=CollectedItems)
    asked: AskCollect | None = None  # the open question
    again_at: float = 0.0
    is_due: bool = False  # to be asked after the open question
    is_refused: bool = False  # reported

    def question(self, certificate: Certificate) -> AskCollect:
        return AskCollect(
            certificate=certificate,
            user=self.session.user or "",
            is_named=self.session.is_named,
            run=self.run,
            at=self.items.next,
            done=self.items.done,
            is_connected=self.session.conn is not None or self.session.is_moving,
            is_open=self.is_open,
        )

    def take_page(self, reply: PeerReply[Collected]) -> Sequence[int]:
        """Count a page, and return the numbers of its messages. Raises: RemoteError if it is malformed."""
        names = (self.session.text, str(self.session.name.of_all_sessions()))
        is_ours = all(envelope.to in names for envelope, _ in reply.found)
        if len(reply.value.gaps) != len(reply.found) or not is_ours:
            raise RemoteError("a page of an inbox is malformed", code="MALFORMED")
        numbers = self.items.take_page(reply.value.first, len(reply.found))
        self.is_refused = False
        return numbers
