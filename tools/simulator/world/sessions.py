"""Observes the sessions of a node that have left it, and the ones that it gives up or serves meanwhile."""

from __future__ import annotations

from collections.abc import Callable

from mesh.kernel.context.incoming_call import IncomingCall
from mesh.kernel.parts import Parts
from mesh.kernel.peers.peer import Peer
from mesh.kernel.subscribers.session import Session
from mesh.wire.calls import AskRelease
from mesh.wire.commands import Moved

Tell = Callable[..., None]  # kind of the event, and its fields


def watch(parts: Parts, tell: Tell) -> None:
    """Report sessions that left, and that end here without a release, or an end at their new nodes."""
    clients, visiting, visits = parts.clients, parts.visiting, parts.context.visits
    close, on_release, on_moved = clients.close, visiting._on_release, visiting._on_moved
    released = set[bytes]()  # streams in a release

    def releases(asked: IncomingCall[AskRelease], node: bytes) -> None:
        released.add(asked.ask.certificate.stream)
        on_release(asked, node)
        released.clear()

    def moves(peer: Peer, notice: Moved) -> None:
        if notice.subscriptions == () and notice.certificate.node == peer.node.uuid:
            released.add(notice.certificate.stream)
        on_moved(peer, notice)
        released.clear()

    def closes(session: Session, is_bye: bool = False) -> None:
        is_held = session.conn is None and any(feed.queries for feed in session.feeds.values())
        has_left = visits.has_left(session.stream, parts.context.me.uuid)
        if is_held and has_left and session.stream not in released:
            tell("gives up", stream=session.stream.hex(), to=session.text)
        close(session, is_bye)

    vars(clients)["close"] = closes
    vars(visiting).update(_on_release=releases, _on_moved=moves)


def sample(parts: Parts, tell: Tell) -> None:
    """Report connected sessions that have left this node."""
    visits, me = parts.context.visits, parts.context.me.uuid
    for session in parts.clients.sessions.values():
        if session.conn is not None and visits.has_left(session.stream, me):
            tell("serves", stream=session.stream.hex(), to=session.text)


def end(parts: Parts, tell: Tell) -> None:
    """Report the sessions that the node has at the end of the run."""
    for session in parts.clients.sessions.values():
        tell("has session", stream=session.stream.hex(), to=session.text)
