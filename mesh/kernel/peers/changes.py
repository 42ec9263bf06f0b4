"""Reactions to changes of other nodes: joining, leaving, moving and restarting."""

from __future__ import annotations

from collections.abc import Callable

from mesh.discovery.member import NodeLife
from mesh.discovery.membership import (
    Conflict,
    Dead,
    Joined,
    Left,
    Moved,
    Restarted,
    Sighted,
    Suspected,
    SuspicionRefuted,
)
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.dialler import Dialler
from mesh.kernel.peers.facts import Lived, PeerJoined, PeerLost, RoutesChanged, ViewChanged
from mesh.kernel.peers.introductions import as_introduction
from mesh.kernel.peers.peer import Peer
from mesh.kernel.peers.reach_table import ReachAction, ReachEvent
from mesh.wire.commands import NODE_CONTROL, NODE_DATA, Rumour, Rumours

EVENTS: dict[type[Sighted | Lived], ReachEvent] = {
    Sighted: ReachEvent.SIGHTED,
    Joined: ReachEvent.JOINED,
    Restarted: ReachEvent.RESTARTED,
    Moved: ReachEvent.MOVED,
    Suspected: ReachEvent.SUSPECTED,
    SuspicionRefuted: ReachEvent.TRUSTED,
    Dead: ReachEvent.DIED,
    Conflict: ReachEvent.DOUBLED,
    Left: ReachEvent.SAID_GOODBYE,
}
# Kind, level and text of the event for each change.
TOLD: dict[ReachEvent, tuple[str, str, str]] = {
    ReachEvent.JOINED: ("joined", "info", "{name} (boot {boot}) at {at}, found by {via}"),
    ReachEvent.RESTARTED: ("restarted", "info", "{name} is a new process (boot {boot})"),
    ReachEvent.MOVED: ("moved", "info", "{name} moved to {at}"),
    ReachEvent.SUSPECTED: ("suspect", "warning", "{name} does not answer"),
    ReachEvent.TRUSTED: ("alive", "info", "{name} answers again"),
    ReachEvent.DIED: ("dead", "warning", "{name} (boot {boot}) is dead: no answer"),
    ReachEvent.SAID_GOODBYE: ("left", "info", "{name} (boot {boot}) left"),
    ReachEvent.SAID_TO_LEAVE: ("left", "info", "{name} (boot {boot}) left"),
    ReachEvent.DOUBLED: (
        "conflict",
        "warning",
        "two processes answer for {name}: its data directory may be a copy",
    ),
}


class Changes:
    """Carries out the actions of the reach table.

    `announce` introduces a newcomer to other nodes.
    """

    def __init__(self, context: NodeContext, dialler: Dialler, announce: Callable[[Peer], None]) -> None:
        self._context = context
        self._dialler = dialler
        self._announce = announce

    def react(self, peer: Peer, lived: Sighted | Lived, known: int) -> None:
        """Take a step of the reach table for the event `lived`.

        `known` is the boot of the peer that was known before the event.
        """
        event = EVENTS[type(lived)]
        if event is ReachEvent.SAID_GOODBYE and lived.member.boot > known:
            event = ReachEvent.SAID_TO_LEAVE
        if not isinstance(lived, Sighted):
            self._report_change(event, lived)
        gone = lived.old_boot if isinstance(lived, Restarted) else peer.node.boot
        for action in peer.reach.happens(event, self._context.clock.now):
            self._carry_out(action, peer, gone)
        if not peer.alive:
            self._dialler.watchlist.add(peer)
            self._context.clock.wake(peer.reach.due)

    def _carry_out(self, action: ReachAction, peer: Peer, gone: int) -> None:
        """Carry out one action of the reach table; `gone` is the boot that ended."""
        now, link, apply = self._context.clock.now, peer.link, self._dialler.apply
        match action:
            case ReachAction.HANG_UP:
                self._dialler.drop(peer, NODE_CONTROL)
            case ReachAction.LOG_IN:
                if link.is_dialling and not peer.dials[NODE_DATA]:
                    apply(peer, link.disconnected(now))  # asked the earlier process to dial
                apply(peer, link.restarted(now))
            case ReachAction.FOLLOW:
                apply(peer, link.address(now))
            case ReachAction.SILENCE | ReachAction.BYE:
                apply(peer, link.bye(now) if action is ReachAction.BYE else link.silence(now))
                apply(peer, link.unwanted(now))  # wanted again when it is back
            case ReachAction.LOSE:
                self._publish_change(PeerLost(peer, gone))
            case ReachAction.JOIN:
                self._publish_change(PeerJoined(peer))
                self._announce(peer)
            case ReachAction.TELL_PLACE:
                self._tell_where_it_was(peer)

    def _publish_change(self, fact: PeerJoined | PeerLost) -> None:
        self._context.facts.publish_fact(fact)
        self._context.facts.publish_last(RoutesChanged())

    def _tell_where_it_was(self, peer: Peer) -> None:
        """Send a peer's new address over its existing connections.

        A process that does not use the address learns in this way of another process with its identity.
        """
        rumour = Rumour(peer.node, 0, str(NodeLife.ALIVE), self._context.me.uuid)
        for conn in peer.conns.values():
            self._context.out.send(conn, Rumours((rumour,)))

    def _report_change(self, event: ReachEvent, lived: Lived) -> None:
        if self._context.facts.watched:
            self._context.facts.publish_fact(ViewChanged(lived))
        m = lived.member
        kind, level, template = TOLD[event]
        text = template.format(name=m.name, boot=m.boot, at=m.address or "an unknown address", via=m.via)
        self._context.event(kind, text, as_introduction(m.node), level)
