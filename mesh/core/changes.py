"""What follows when a node comes, goes, moves or is another process now?"""

from __future__ import annotations

from collections.abc import Callable

from discovery.member import Presence
from discovery.membership import (
    Conflict,
    Dead,
    Joined,
    Left,
    Moved,
    Restarted,
    Sighted,
    Suspected,
    Trusted,
)
from mesh.core.acquaintances import Acquaintances
from mesh.core.desk import Desk
from mesh.core.dialler import Dialler
from mesh.core.introductions import as_introduction
from mesh.core.peer import Peer
from mesh.wire.commands import NODE_CONTROL, NODE_DATA, Rumour, Rumours

HEAD_START = 0.3  # s that the lower uuid has to dial first, so that both seldom dial at once
Lived = Sighted | Joined | Restarted | Moved | Suspected | Trusted | Dead | Left | Conflict


class Changes:
    """`joined` and `lost` hear of peers that can be asked something, or no more; `announce` tells others."""

    def __init__(
        self, desk: Desk, dialler: Dialler, acquaintances: Acquaintances, announce: Callable[[Peer], None]
    ) -> None:
        self._desk = desk
        self._dialler = dialler
        self._acquaintances = acquaintances
        self._announce = announce
        self.joined: Callable[[Peer], None] = lambda peer: None  # set by the node
        self.lost: Callable[[Peer, int], None] = lambda peer, boot: None  # in that boot

    def react(self, peer: Peer, event: Lived) -> None:
        now, dialler = self._desk.now, self._dialler
        if isinstance(event, Sighted):
            peer.is_news = True
            dialler.watch(peer)
            peer.next_control = min(peer.next_control, now + HEAD_START)
            peer.has_left = False
            self._desk.wake(peer.next_control)
            return
        self._tell(event)
        peer.suspect = isinstance(event, Suspected)
        match event:
            case Joined():
                peer.alive, peer.is_news, peer.has_left = True, False, False
                dialler.apply(peer, peer.link.restarted(now))
                self._acquaintances.met(peer.node)
                self.joined(peer)
                self._announce(peer)
            case Restarted(old_boot=old_boot):
                dialler.drop(peer, NODE_CONTROL)
                self.lost(peer, old_boot)
                if peer.link.is_dialling and not peer.dials[NODE_DATA]:
                    dialler.apply(peer, peer.link.disconnected(now))  # the old one was asked to
                dialler.apply(peer, peer.link.restarted(now))
                self._acquaintances.met(peer.node)
                self.joined(peer)
                self._announce(peer)
            case Moved():
                self._tell_where_it_was(peer)
                self._acquaintances.met(peer.node)
                dialler.apply(peer, peer.link.address(now))
            case Dead() | Left() | Conflict():
                peer.alive = False
                gone = peer.link.bye(now) if isinstance(event, Left) else peer.link.silence(now)
                dialler.apply(peer, gone)
                dialler.apply(peer, peer.link.unwanted(now))  # wanted anew when it is back
                peer.probe, peer.untried, peer.is_news = None, [], False
                peer.has_left = isinstance(event, Left)
                dialler.drop(peer, NODE_CONTROL)
                peer.control_attempt, peer.next_control = 0, now + dialler.wait(1)
                self._desk.wake(peer.next_control)
                self.lost(peer, peer.node.boot)

    def _tell_where_it_was(self, peer: Peer) -> None:
        """It knows where it is. If that is another process with its identity, both learn of it so."""
        rumour = Rumour(peer.node, 0, str(Presence.ALIVE), self._desk.me.uuid)
        for conn in peer.conns.values():
            self._desk.send(conn, Rumours((rumour,)))

    def _tell(self, event: Lived) -> None:
        """For people."""
        m = event.member
        who, at = as_introduction(m.node), m.address or "an address of its own"
        kind, text = {
            Joined: ("joined", f"{m.name} (boot {m.boot}) at {at}, found by {m.via}"),
            Restarted: ("restarted", f"{m.name} is a new process (boot {m.boot})"),
            Moved: ("moved", f"{m.name} is at {at} now"),
            Suspected: ("suspect", f"{m.name} does not answer"),
            Trusted: ("alive", f"{m.name} answers again"),
            Dead: ("dead", f"{m.name} (boot {m.boot}) did not answer"),
            Left: ("left", f"{m.name} (boot {m.boot}) said goodbye"),
            Conflict: ("conflict", f"two processes answer for {m.name}: was its data directory copied?"),
        }[type(event)]
        level = "info" if kind in ("joined", "left", "alive", "moved", "restarted") else "warning"
        self._desk.event(kind, text, who, level)
