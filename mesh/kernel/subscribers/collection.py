"""A visiting session's inbox, as the visited node collects it from the home."""

from __future__ import annotations

from dataclasses import dataclass, field

from mesh.kernel.subscribers.session import Session
from mesh.routing.collecting import CollectedItems
from mesh.routing.inbox import Inbox
from mesh.wire.calls import AskCollect
from mesh.wire.commands import Certificate


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
            is_connected=self.session.conn is not None or self.session.is_redirected,
            is_open=self.is_open,
        )
