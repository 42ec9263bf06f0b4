"""What follows when a node comes, goes, moves or is another process now?"""

from __future__ import annotations

from collections.abc import Callable

from discovery.member import Presence
from discovery.membership import Conflict, Dead, Joined, Left, Moved, Restarted, Sighted, Suspected, Trusted
from mesh.core.desk.desk import Desk
from mesh.core.peers.dialler import Dialler
from mesh.core.peers.facts import Lived, PeerJoined, PeerLost, ViewChanged, WaysChanged
from mesh.core.peers.introductions import as_introduction
from mesh.core.peers.peer import Peer
from mesh.wire.commands import NODE_CONTROL, NODE_DATA, Rumour, Rumours

HEAD_START = 0.3  # s that the lower uuid has to dial first, so that both seldom dial at once


class Changes:
    """Says PeerJoined and PeerLost; `announce` tells others."""

    def __init__(self, desk: Desk, dialler: Dialler, announce: Callable[[Peer], None]) -> None:
        self._desk = desk
        self._dialler = dialler
        self._announce = announce

    def react(self, peer: Peer, event: Sighted | Lived, known: int) -> None:
        """`known`: the boot in which we knew it before."""
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
                self._say(PeerJoined(peer))
                self._announce(peer)
            case Restarted(old_boot=old_boot):
                dialler.drop(peer, NODE_CONTROL)
                self._say(PeerLost(peer, old_boot))
                if peer.link.is_dialling and not peer.dials[NODE_DATA]:
                    dialler.apply(peer, peer.link.disconnected(now))  # the old one was asked to
                dialler.apply(peer, peer.link.restarted(now))
                self._say(PeerJoined(peer))
                self._announce(peer)
            case Moved():
                self._tell_where_it_was(peer)
                dialler.apply(peer, peer.link.address(now))
            case Dead() | Left() | Conflict():
                peer.alive = False
                gone = peer.link.bye(now) if isinstance(event, Left) else peer.link.silence(now)
                dialler.apply(peer, gone)
                dialler.apply(peer, peer.link.unwanted(now))  # wanted anew when it is back
                peer.probe, peer.untried, peer.is_news = None, [], False
                # Of a process that we never met others say so. Two who believed a liar that of each other
                # would both wait to be dialled: so it is dialled, as the dead are.
                peer.has_left = isinstance(event, Left) and event.member.boot <= known
                dialler.drop(peer, NODE_CONTROL)
                peer.control_attempt, peer.next_control = 0, now + dialler.wait(1)
                self._desk.wake(peer.next_control)
                self._say(PeerLost(peer, peer.node.boot))

    def _say(self, fact: PeerJoined | PeerLost) -> None:
        self._desk.say(fact)
        self._desk.say_last(WaysChanged())

    def _tell_where_it_was(self, peer: Peer) -> None:
        """It knows where it is. If that is another process with its identity, both learn of it so."""
        rumour = Rumour(peer.node, 0, str(Presence.ALIVE), self._desk.me.uuid)
        for conn in peer.conns.values():
            self._desk.send(conn, Rumours((rumour,)))

    def _tell(self, event: Lived) -> None:
        """For people, and for those who watch."""
        if self._desk.watched:
            self._desk.say(ViewChanged(event))
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
