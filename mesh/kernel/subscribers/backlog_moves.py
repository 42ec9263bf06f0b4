"""Moves of direct messages that wait for a client to one of its sessions with an open inbox."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial

from mesh.errors import MeshError
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.subscribers.remote_readers import Reader
from mesh.kernel.subscribers.session import INBOX
from mesh.names import SessionName
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.inbox import Inbox, by_inbox, place
from mesh.routing.paging import Paging


class BacklogMoves:
    """The moves of one node, by client, each until no message waits that a session can read.

    `inboxes` has the inboxes by name, and `opened` the names of those that sessions have opened. `inbox_of`
    returns the inbox of a name, and creates it if necessary. `entitled` returns the connected sessions that
    may read the messages for a client.
    """

    def __init__(
        self,
        context: NodeContext,
        disk: Disk,
        paging: Paging,
        inboxes: Mapping[str, Inbox],
        opened: Collection[str],
        inbox_of: Callable[[str], Inbox],
        entitled: Callable[[SessionName], list[Reader]],
    ) -> None:
        self._context, self._disk, self._paging = context, disk, paging
        self._inboxes, self._opened = inboxes, opened
        self._inbox_of, self._entitled = inbox_of, entitled
        # Clients whose backlog is moving to a session; True if more messages arrived meanwhile.
        self._moving: dict[str, bool] = {}
        # By client: closed sessions that may have unread messages.
        self._left: dict[str, list[str]] = {}

    def start_move(self, client: str, left: str = "") -> None:
        """Start a move for a client. A move in progress is repeated.

        `left` names a closed session whose unread messages are moved as well.
        """
        if left:
            self._left.setdefault(client, []).append(left)
        if client in self._moving:
            self._moving[client] = True
        else:
            self._move(client)

    def has_older(self, client: str, session: Reader) -> bool:
        """Return whether a new message must wait in the inbox of `client` instead of the inbox of `session`.

        Either older messages are moving, and the move is then repeated, or the session's inbox is not open.
        """
        if client in self._moving:
            self._moving[client] = True
            return True
        # Messages wait for the client until its connected session opens its inbox.
        return not _has_opened(session)

    def _move(self, client: str) -> None:
        """Assign the backlog of a client to one of its sessions with an open inbox, if there is one.

        The backlog includes messages that are being stored, and unread messages of closed sessions.
        """
        self._moving[client] = False

        def landed(error: MeshError | None) -> None:
            names = (*self._left.pop(client, ()), client)
            slices = [slice_ for name in names for slice_ in self._take_unread(name)]
            if slices:
                self._paging.have(slices, partial(self._on_read, client))
            elif self._moving.pop(client):
                self._move(client)

        self._disk.commit((), landed)

    def _take_unread(self, name: str) -> list[EnvelopeSlice]:
        feed = self._inboxes.get(name)
        return feed.take_all() if feed is not None and name not in self._opened else []

    def _on_read(self, client: str, slices: list[EnvelopeSlice]) -> None:
        """Assign slices, whose contents are in memory, to a session with an open inbox, or to the client.

        Slices that are addressed to one session return to the inbox of that session.
        """
        readers = [s.text for s in self._entitled(SessionName.parse(client)) if _has_opened(s)]
        for name, some in by_inbox(client, readers[0] if readers else client, slices).items():
            self._put_back(name, some)
        if readers or client in self._left or self._moving[client]:  # more may have arrived meanwhile
            self._move(client)
        else:
            del self._moving[client]

    def _put_back(self, name: str, slices: list[EnvelopeSlice]) -> None:
        """Add slices to an inbox, sorted together with its waiting slices unless a session is reading it."""
        inbox = self._inbox_of(name)
        waiting = [] if inbox.connected else inbox.take_all()
        for slice_ in sorted((*slices, *waiting), key=place):
            inbox.offer(slice_, self._context.clock.now)


def _has_opened(session: Reader) -> bool:
    """Return whether the session has opened its inbox on its present connection."""
    return INBOX in session.feeds and session.feeds[INBOX].connected
