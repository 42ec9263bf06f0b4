"""Start of a node from the contents of its stores, and its announced stop."""

from __future__ import annotations

from mesh.kernel.context.component import PUBLISHED, TAILED_BACK, Beginning
from mesh.kernel.context.conn import Conn
from mesh.kernel.parts import Parts
from mesh.kernel.peers.dialler import DISCONNECT
from mesh.names import QUEUE, kind_of
from mesh.operations import Image
from mesh.wire import commands as c
from mesh.wire.envelope import TAILED, decode

FORWARD = 32  # addresses in a BYE, which must fit into a frame


class Lifecycle:
    """Start and stop of the components of one node, each called once."""

    def __init__(self, parts: Parts) -> None:
        self._parts, self._context = parts, parts.context

    def start(self, beginning: Beginning) -> None:
        """Start the components, and pass them the envelopes of the stores."""
        for part in self._context.face:
            part.start(beginning)
        for store, image in {"": beginning.image, **beginning.others}.items():
            self._restore(store, image)
        for part in self._context.face:
            part.on_restored()

    def _restore(self, store: str, image: Image) -> None:
        restores, is_split = self._context.face.envelope_restorers, bool(self._context.settings.stores)
        for position, header, body in image.envelopes:
            envelope = decode(header, body)
            if envelope.flags & TAILED:
                kind = TAILED_BACK
            else:
                kind = kind_of(envelope.to) if envelope.to else PUBLISHED
            if is_split:
                self._parts.disks.check_store(store, envelope.to if kind == QUEUE else "")
            restores[kind](position, envelope)

    def announce_stop(self) -> None:
        """Send BYE to clients and nodes, and let the components write what they still have to store.

        If another process has the identity of this node, only clients are notified.
        """
        alive = self._parts.neighbours.living_peers()
        forward = tuple([peer.node.address for peer in alive if peer.node.address][:FORWARD])
        for announce in self._context.face.before_goodbyes:
            announce()
        for conn in list(self._parts.dialler.conns.values()):
            # A node whose WELCOME is in transit would otherwise consider this one dead.
            is_heard = conn.is_open or (conn.dialled and conn.role in (c.NODE_CONTROL, c.NODE_DATA))
            # Another process with our identity would be considered stopped as well.
            if is_heard and (conn.role == c.CLIENT or not self._context.is_doubled):
                self._context.out.send(conn, c.Bye(self._reason(conn), forward))
        for finish in self._context.face.after_goodbyes:
            finish()
        if self._context.serves:
            self._parts.disks.commit_later()

    def _reason(self, conn: Conn) -> str:
        """Return the reason for BYE on a connection: `disconnect` where the configuration says so."""
        peer = self._parts.neighbours.of(conn)
        logs_off = peer is not None and peer.node.name in self._context.settings.disconnects
        return DISCONNECT if logs_off else "stopping"
