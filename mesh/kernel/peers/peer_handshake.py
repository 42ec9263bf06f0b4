"""Handshakes between nodes: admits or refuses a node, and chooses among duplicate connections."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from mesh.discovery.member import NodeLife
from mesh.discovery.membership import NameClash
from mesh.discovery.table import CAPACITY
from mesh.kernel.access.handshake_checks import COPIED
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.effects import Stop
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.dialler import Dialler
from mesh.kernel.peers.duplicate_detector import DuplicateDetector
from mesh.kernel.peers.facts import LoginRefused, PeerConnected
from mesh.kernel.peers.introductions import as_node, without_metadata
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.peers.reach_table import ReachEvent
from mesh.kernel.peers.seniority import is_senior
from mesh.links.duel import keep_mine
from mesh.loglevels import ACCESS
from mesh.printable import typed
from mesh.wire.commands import NODE_CONTROL, NODE_DATA, Hello, Introduction, Refuse
from mesh.wire.metadata import heard

TOLD = 64  # nodes whose last refusal is remembered
DUEL = 0.5  # s in which both may have dialed at the same time
DENIED = "DENIED"
NO_LINK = "the mesh denies links with {}"
YOUNG = 30.0  # s: a node this young gives way when its name or its identity is taken


class RefusalMeaning(NamedTuple):
    """The consequences of a refused HELLO for the refused node."""

    is_reported: bool = True
    is_for_the_younger: bool = False  # a young node stops, if the refusal is final
    is_by_rules: bool = False  # it does not count while this node allows the link
    refuses_link: bool = True  # of a data connection: the peer refuses the link
    refuses_node: bool = True  # if final: the peer refuses this node


MEANINGS = {
    "DUEL": RefusalMeaning(is_reported=False, refuses_link=False),  # another connection stays
    "SAME_UUID": RefusalMeaning(is_reported=False, refuses_node=False),  # it was this node itself
    "NAME_IN_USE": RefusalMeaning(is_for_the_younger=True),
    "CONFLICT": RefusalMeaning(is_for_the_younger=True),
    DENIED: RefusalMeaning(is_by_rules=True),
}
OTHER = RefusalMeaning()  # of all other codes


class PeerHandshake(Component):
    """Second half of a handshake with a node, after the node has proven that it belongs to this mesh."""

    def __init__(
        self, context: NodeContext, dialler: Dialler, neighbours: Neighbours, rivals: DuplicateDetector
    ) -> None:
        self._context = context
        self._dialler = dialler
        self._neighbours = neighbours
        self._rivals = rivals
        self._born = 0.0
        self._refused: dict[bytes, str] = {}  # nodes that we refused, and why: reported once

    def start(self, beginning: Beginning) -> None:
        self._born = self._context.clock.now

    def admit_peer(self, conn: Conn, h: Hello) -> Peer | Refuse:
        """Use the connection of a HELLO and return its peer, or return the refusal."""
        if h.node is None or len(h.node.uuid) != 16:
            return Refuse("MALFORMED", "a node introduced itself without a uuid of 16 bytes", final=True)
        refusal = self._accept_introduction(h.node, h.process)
        if refusal is not None:
            return refusal
        peer = self._neighbours.peers[h.node.uuid]
        if h.role == NODE_DATA and (name := self._context.denies(h.node.name)):
            return Refuse(DENIED, NO_LINK.format(name), f"To allow them: `mesh node allow {typed(name)}`.")
        # Our dial counts only while it is young: a dial that hangs at a firewall must not displace a working
        # connection.
        ours = any(self._context.clock.now - dial.opened < DUEL for dial in peer.dials[h.role])
        both_dial = ours and peer.conns[h.role] is None
        if both_dial and keep_mine(self._context.me.uuid, h.node.uuid, True):
            return Refuse("DUEL", "both nodes dialed, so only the connection from the lower uuid stays")
        conn.role = h.role
        self._dialler.use_connection(peer, conn)
        return peer

    def entered(self, conn: Conn, node: Introduction) -> Peer | None:
        """Handle the WELCOME to our HELLO; return the peer, or `None` if the connection is not kept."""
        if self._rivals.is_rival_dial(conn):
            self._context.out.hang_up(conn)  # another node is there
            return None
        dialled = self._neighbours.of(conn)
        if conn.seed and not self._pinned_otherwise(node):
            self._neighbours.sighted(node, self._neighbours.acquaintances.via(conn.seed))
        refusal = self._accept_introduction(node)
        if refusal is not None:
            self._unwanted(conn, node, refusal, dialled)
            return None
        if conn.seed:
            self._neighbours.acquaintances.record_answer(conn, node)
        peer = self._neighbours.peers[node.uuid]
        if dialled is not None and dialled is not peer:  # another node is at that address now
            self._dialler.on_conn_ended(conn, dialled)
        if conn.role == NODE_DATA and self._context.denies(node.name):
            self._shut(peer)
            self._context.out.hang_up(conn)
            return None
        rival = peer.conns[conn.role]
        if rival is not None and not keep_mine(self._context.me.uuid, node.uuid, True):
            if conn in peer.dials[conn.role]:
                peer.dials[conn.role].remove(conn)
            self._context.out.hang_up(conn)
            return None
        self._dialler.use_connection(peer, conn)
        return peer

    def _unwanted(self, conn: Conn, node: Introduction, refusal: Refuse, dialled: Peer | None) -> None:
        """Close a connection to a node that accepted this node, but that this node refuses."""
        if conn.seed:
            self._neighbours.acquaintances.says_no(conn, f"{refusal.reason} [{refusal.code}]")
            self._neighbours.acquaintances.on_refused(conn, is_us=False)
        if self._refused.get(node.uuid) != refusal.code:
            self._refused = {**dict(list(self._refused.items())[-TOLD:]), node.uuid: refusal.code}
            self._context.event("refused", f"{refusal.reason} [{refusal.code}]", node, level="warning")
        self._dialler.on_conn_ended(conn, dialled)
        if dialled is not None and refusal.final:
            dialled.reach.happens(ReachEvent.UNWELCOME, self._context.clock.now)
        self._context.out.hang_up(conn)

    def deny(self, names: frozenset[str]) -> None:
        """Forbid links with the named nodes, and allow links with other nodes again."""
        peers = self._neighbours.peers.values()
        before = {peer.node.uuid for peer in peers if self._context.denies(peer.node.name)}
        self._context.denied = names
        for peer in peers:
            if self._context.denies(peer.node.name):
                self._shut(peer)
            elif peer.node.uuid in before:
                self._dialler.apply(peer, peer.link.allowed(self._context.clock.now))

    def _shut(self, peer: Peer) -> None:
        if peer.link.by not in ("me", "both"):
            reason = NO_LINK.format(self._context.denies(peer.node.name))
            self._dialler.apply(peer, peer.link.denied(self._context.clock.now, DENIED, reason))

    def connect_peer(self, conn: Conn, peer: Peer) -> None:
        """Update the link after HELLO and WELCOME, and report a control connection."""
        if self._context.denies(peer.node.name):
            self._shut(peer)
        elif peer.link.by:  # one side allows the link again
            self._dialler.apply(peer, peer.link.allowed(self._context.clock.now))
        if conn.role == NODE_CONTROL:
            self._neighbours.liveness.send_waiting(peer)
            self._dialler.reached(peer)
            self._context.facts.publish_fact(PeerConnected(peer))

    def denied(self, conn: Conn, r: Refuse) -> None:
        """Record that this node refused the connection `conn`, which it had dialed."""
        peer, now = self._neighbours.of(conn), self._context.clock.now
        if conn.seed:
            self._neighbours.acquaintances.says_no(conn, f"{r.reason} [{r.code}]")
            self._neighbours.acquaintances.on_refused(conn, is_us=False)
        self._dialler.on_conn_ended(conn, peer)
        if peer is not None:
            self._dialler.apply(peer, peer.link.denied(now, r.code, r.reason))
            peer.reach.happens(ReachEvent.UNWELCOME, now)

    def rejected(self, conn: Conn, r: Refuse, is_proven: bool) -> None:
        """Handle the refusal of our HELLO by the other end."""
        meaning, peer, now = MEANINGS.get(r.code, OTHER), self._neighbours.of(conn), self._context.clock.now
        acquaintances = self._neighbours.acquaintances
        if peer is None:  # a seed: REFUSE does not name its sender
            peer = self._neighbours.peers.get(acquaintances.who(conn.seed))
        why = f"the node there refused this node: {r.reason} [{r.code}]"
        is_news = meaning.is_reported and acquaintances.says_no(conn, why)
        if conn.seed and r.final:
            acquaintances.on_refused(conn, is_us=False)
        if meaning.is_for_the_younger and r.final and is_proven and self.is_young:
            self._context.facts.publish_fact(LoginRefused(Stop(f"{r.reason}. {r.hint}", r.code)))
        if meaning.is_reported:
            self._report_refusal(conn, peer, r, is_news)
        # If this node allows the link, one of the two has not received the latest rules yet.
        is_late = meaning.is_by_rules and peer is not None and not self._context.denies(peer.node.name)
        if peer is not None and conn.role == NODE_DATA and meaning.refuses_link and not is_late:
            if conn in peer.dials[NODE_DATA]:
                peer.dials[NODE_DATA].remove(conn)
            self._dialler.apply(peer, peer.link.on_refused(now, r.code, r.reason))
            return
        self._dialler.on_conn_ended(conn, peer)
        if peer is not None and r.final and meaning.refuses_node:
            self._dialler.apply(peer, peer.link.on_refused(now, r.code, r.reason))
            peer.reach.happens(ReachEvent.UNWELCOME, now)

    def _report_refusal(self, conn: Conn, peer: Peer | None, r: Refuse, is_news: bool) -> None:
        text = f"{conn.endpoint} refused this node: {r.reason}. {r.hint} [{r.code}]"
        if is_news and (peer is None or peer.link.reason != r.reason):
            self._context.event("refused", text, peer.node if peer else None, level="warning")
        else:  # as before
            self._context.out.log_line("info", f"refused: {text}", ACCESS)

    def mirrored(self, conn: Conn, process: bytes, address: str) -> None:
        """Handle a connection whose other end has proven our own key."""
        if process == self._context.process and conn.seed:
            self._neighbours.acquaintances.on_refused(conn, is_us=True)
        self._rivals.proved(conn, process, address)

    # --- identity ---------------------------------------------------------------------------------------

    def _accept_introduction(self, node: Introduction, process: bytes = b"") -> Refuse | None:
        if node.uuid == self._context.me.uuid:
            text = f"{node.name} has the identity of {self._context.me.name}"
            return Refuse("SAME_UUID", text, COPIED, final=True)
        if self._pinned_otherwise(node):
            text = f"{node.name} has another key than node {node.uuid.hex()[:8]} had before"
            hint = f"If its keys were recreated on purpose: `mesh peer rm {typed(node.name)}`."
            return Refuse("WRONG_IDENTITY", text, hint, final=True)
        events = self._neighbours.membership.on_introduction(as_node(node), self._context.clock.now)
        for event in events:
            if isinstance(event, NameClash):
                return self._name_in_use(event, process)
        self._neighbours.happened(events)
        known = self._neighbours.peers.get(node.uuid)
        if known is None:
            text = f"{self._context.me.name} already knows {CAPACITY:,} nodes, which is the limit"
            return Refuse("TOO_MANY_NODES", text)
        member = self._neighbours.membership.member_of(node.uuid)
        is_doubled = member is not None and member.state is NodeLife.CONFLICT
        if node.boot < known.node.boot:
            text = f"{node.name} already reached boot {known.node.boot}, but now has boot {node.boot}"
            older = f'Restore its newest identity.json, or write "boot": {known.node.boot} into that file.'
            return Refuse("OLD_BOOT", text, COPIED if is_doubled else older, final=True)
        if is_doubled:
            text = f"two processes answer for {node.name} ({node.uuid.hex()[:8]})"
            is_outlived = self._neighbours.membership.is_outlived(node.uuid)
            return Refuse("CONFLICT", text, COPIED, final=is_outlived)
        self._proven(known, node)
        return None

    def _proven(self, peer: Peer, node: Introduction) -> None:
        """Record the proven key and the metadata of a peer, and remember the peer on disk."""
        peer.key = node.key
        peer.metadata = heard(node.metadata)
        if peer.node.key != node.key:
            peer.node = replace(peer.node, key=node.key)
        self._neighbours.acquaintances.met(without_metadata(node))

    def _pinned_otherwise(self, node: Introduction) -> bool:
        pinned = self._pinned(node.uuid)
        return bool(pinned) and pinned != node.key

    def _pinned(self, uuid: bytes) -> bytes:
        """Return the first key of that node, or b"" if the node is neither remembered nor alive."""
        known = self._neighbours.peers.get(uuid)
        present = known.key if known is not None and known.alive else b""
        return self._neighbours.acquaintances.key_of(uuid) or present

    def _name_in_use(self, clash: NameClash, process: bytes) -> Refuse:
        """Refuse a newcomer whose name is in use.

        If this node has the name and is young, and the newcomer started first, this node gives way.
        """
        holder, newcomer = clash.holder, clash.newcomer
        text, where = f"the name {newcomer.name!r} belongs to", holder.address or "an unknown address"
        hint = "Start one of them with another `--id`."
        if holder.uuid == self._context.me.uuid:
            gives_way = self.is_young and is_senior(process, self._context.process)
            if gives_way:
                older = newcomer.node.address or "an unknown address"
                what = f"{text} an older node at {older}"
                self._context.facts.publish_fact(LoginRefused(Stop(f"{what}. {hint}", "NAME_IN_USE")))
            return Refuse("NAME_IN_USE", f"{text} a live node at {where}", hint, final=not gives_way)
        if self._answers(self._neighbours.peers[holder.uuid], holder.heard):
            return Refuse("NAME_IN_USE", f"{text} a live node at {where}", hint, final=True)
        text = f"{text} a node at {where}, which has not answered yet"
        return Refuse("NAME_IN_USE", text, f"If that node still runs: {hint[0].lower()}{hint[1:]}")

    @property
    def is_young(self) -> bool:
        """Whether this node is young enough to give way when its name or identity is taken."""
        return self._context.clock.now - self._born < YOUNG

    def _answers(self, holder: Peer, heard: float) -> bool:
        """Return whether the holder of a name has sent anything since this method last pinged it.

        The holder may have died unnoticed, so it is pinged, at most once in `silence` seconds.
        """
        if self._context.clock.now - holder.probed > self._context.settings.silence:
            holder.probed = self._context.clock.now
            self._dialler.ping(holder)
        return heard > holder.probed
