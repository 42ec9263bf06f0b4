"""Questions for the logs of masters: of other nodes, and of this node itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mesh.errors import LocalError
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.kernel.subscribers.resume_source import Page, ResumeSource
from mesh.wire.calls import AskResume
from mesh.wire.limits import VISITS
from mesh.wire.replies import Resumed

WITHIN = 10.0  # s for a page

Answer = Page | LocalError | None  # None: no reply in time
OnPage = Callable[[Answer], None]


class MasterLogs:
    """Asks masters for pages of their logs."""

    def __init__(
        self, context: NodeContext, neighbours: Neighbours, questions: PeerCalls, source: ResumeSource
    ) -> None:
        self._me = context.me.uuid
        self._neighbours = neighbours
        self._questions = questions
        self._source = source

    def name_of(self, master: bytes) -> str:
        """Return the name of a master, or its id if it is unknown."""
        peer = self._neighbours.peers.get(master)
        return peer.node.name if peer is not None else master.hex()

    def is_reachable(self, master: bytes) -> bool:
        peer = self._neighbours.peers.get(master)
        return master == self._me or (peer is not None and peer.alive)

    def ask(self, master: bytes, ask: AskResume, then: OnPage) -> bool:
        """Ask a master, and call `then` with the answer; return False if the master is not linked now."""
        if master == self._me:
            try:
                self._source.resume(ask, master, then)
            except LocalError as error:
                then(error)
            return True
        peer = self._neighbours.peers.get(master)
        if peer is None or peer.data is None:
            if peer is not None:
                self._neighbours.review_login(peer)
            return False
        if VISITS not in peer.speaks:
            then(LocalError("The node runs an earlier release.", code="UNKNOWN_VERB"))
        else:
            came = partial(self._on_replies, master, then)
            self._questions.ask_all([peer], ask, Resumed, came, WITHIN, is_patient=True)
        return True

    def _on_replies(self, master: bytes, then: OnPage, replies: Replies[Resumed], missing: list[str]) -> None:
        reply = replies.get(master)
        if reply is None:
            then(None)
        elif reply.code:
            then(LocalError("The master refused to resume its log.", code=reply.code))
        else:
            then((reply.value, [envelope for envelope, _ in reply.found]))
