"""A node without its sockets: frames and time go in, effects come out.

The shell calls methods such as `receive`, `stored`, `disconnected` and `tick`. After each call, the shell
carries out the effects that `take_effects()` returns, in order. The simulator runs the same core.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import msgspec

from mesh.discovery.state import Sample
from mesh.errors import ONE_MESH, OTHER_SITE, LocalError, MeshError, RemoteError
from mesh.kernel.access.authenticator import is_too_long
from mesh.kernel.connection_closer import ConnectionCloser
from mesh.kernel.context.component import Beginning, Reloaded, no_file
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.effects import ConnKey, Effect
from mesh.kernel.context.facts import BackupChanged, ConnEnded, InboundClosed
from mesh.kernel.context.incoming_call import IncomingCall
from mesh.kernel.lifecycle import Lifecycle
from mesh.kernel.parts import Parts
from mesh.kernel.peers.facts import AddressesChanged
from mesh.kernel.peers.seniority import process_of
from mesh.operations import Image, Stored, StoreReach
from mesh.wire import commands as c
from mesh.wire.calls import Ask
from mesh.wire.commands import Reply
from mesh.wire.envelope import Envelope
from mesh.wire.frames import checked, read
from mesh.wire.replies import Process, ReplyValue

NEAR = 8  # nodes of other meshes that are reported
ALARM = 3600.0  # s, the longest sleep
LAZY_COMMIT = 1.0  # s that deferred operations stay in memory


class NodeCore:
    """The node's decision logic, without I/O."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._context, self._conns = parts.context, parts.dialler.conns
        self._clock, self._out, self._facts = parts.context.clock, parts.context.out, parts.context.facts
        self._closer, self._lifecycle = ConnectionCloser(parts), Lifecycle(parts)
        self._committed = 0.0

    # --- calls of the shell -----------------------------------------------------------------------------

    def start(
        self,
        image: Image,
        now: float,
        wall: int,
        process: Callable[[], Process] = Process,
        sample: Callable[[], Sample] | None = None,
        reach: Callable[[], StoreReach] = lambda: StoreReach(0, 0),
        others: Mapping[str, Image] | None = None,
        reload: Callable[[], Reloaded] = no_file,
        is_tight: Callable[[], bool] = lambda: False,
    ) -> None:
        """Start the node with the contents of its stores.

        `image` has the contents of the node's own store, and `others` has the contents of the queues' stores
        by name. The other arguments are fields of `Beginning`.
        """
        self._at(now, wall)
        self._context.process = process_of(self._context.process, wall)
        self._lifecycle.start(Beginning(image, sample, reach, process, is_tight, others or {}, reload))
        self.tick(now, wall)

    def add_inbound(
        self, key: ConnKey, endpoint: str, trusted: bool, user: str = "", within: bool = False
    ) -> None:
        """Add an inbound connection.

        `user` is the public CURVE key of the dialing end, or "". `within` marks the connection of the program
        that embeds this node.
        """
        now = self._clock.now
        self._context.counters.add_count("connections")
        self._conns[key] = Conn(key, False, trusted, endpoint, now, now, user=user, within=within)

    def receive(self, key: ConnKey, frames: list[bytes], now: float, wall: int) -> None:
        self._at(now, wall)
        conn = self._conns.get(key)
        if conn is None or conn.closed:
            return
        conn.heard = now
        if is_too_long(conn, frames):
            self._context.counters.add_count("not_open")
            self._out.send(conn, c.Who())
            return
        try:
            command, envelopes = read(frames, self._context.settings.max_content)
            self.parts.reception.dispatch(conn, command, envelopes)
        except (RemoteError, LocalError) as error:
            self._closer.on_rejected_command(conn, error)
        if self._facts.queue:  # now, so that a failure is blamed on this message
            self._facts.dispatch(self._context.face.fact_handlers)

    def on_command(
        self, key: ConnKey, command: c.Command, envelopes: Sequence[Envelope], now: float, wall: int
    ) -> None:
        """Handle a command from the program that embeds this node, as `receive` handles frames."""
        self._at(now, wall)
        conn = self._conns.get(key)
        if conn is None or conn.closed:
            return
        conn.heard = now
        try:
            self.parts.reception.dispatch(
                conn, *checked(command, envelopes, self._context.settings.max_content)
            )
        except (RemoteError, LocalError) as error:
            self._closer.on_rejected_command(conn, error)
        if self._facts.queue:
            self._facts.dispatch(self._context.face.fact_handlers)

    def poisoned(self, key: ConnKey, now: float, wall: int) -> str:
        """Close the connection of a message that is known to make this node fail, without decoding it.

        Return the sender's name, or "" if the connection has already ended.
        """
        self._at(now, wall)
        conn = self._conns.get(key)
        if conn is None or conn.closed:
            return ""
        conn.heard = now
        return self._closer.close_poisoned(conn)

    def stored(self, token: int, error: MeshError | None, now: float, wall: int, store: str = "") -> None:
        self._at(now, wall)
        self.parts.disks[store].stored(token, error)

    def fetched(
        self, token: int, found: Sequence[Stored] | MeshError, now: float, wall: int, store: str = ""
    ) -> None:
        self._at(now, wall)
        self.parts.disks[store].fetched(token, found)

    def disconnected(self, key: ConnKey, now: float, wall: int) -> None:
        """Handle the end of a connection, as reported by the transport."""
        self._at(now, wall)
        conn = self._conns.pop(key, None)
        if conn is not None and not conn.closed:
            conn.close()
            self._facts.publish_fact(ConnEnded(conn))

    def on_dial_failed(self, key: ConnKey, why: str, hint: str, now: float, wall: int) -> bool:
        """Record why a dial failed, and return whether the core will report it."""
        self._at(now, wall)
        conn = self._conns.get(key)
        if conn is None:
            return False
        conn.why, conn.hint = why.removeprefix(f"{conn.endpoint} ").rstrip("."), hint
        return bool(conn.seed)

    def gossiped(self, frames: list[bytes], now: float, wall: int) -> None:
        """Handle a message from a subscribed PUB socket."""
        self._at(now, wall)
        self.parts.gossiping.on_message(frames)

    def knocked(self, uuid: bytes, refused: bool, now: float, wall: int) -> None:
        """Handle the result of a ProbeAddress effect.

        `refused` means that the operating system at the address refused the connection.
        """
        self._at(now, wall)
        self.parts.neighbours.liveness.knocked(uuid, refused)

    def backup_ended(self, now: float, wall: int) -> None:
        """Handle the end of the copy that a Backup effect began."""
        self._at(now, wall)
        self._facts.publish_fact(BackupChanged(is_begun=False))

    def on_inbound_closed(self, now: float, wall: int) -> None:
        """Handle the end of an unknown inbound connection, so that components ping their peers.

        The transport does not know which connection it was.
        """
        self._at(now, wall)
        self._facts.publish_fact(InboundClosed())

    def advertised(self, node: c.Introduction, now: float, wall: int) -> None:
        """Handle a node that was found by multicast DNS."""
        self._at(now, wall)
        self._context.counters.add_count("adverts")
        if node.uuid != self._context.me.uuid:
            self.parts.neighbours.sighted(node, "mdns")

    def on_foreign_mesh(self, name: str, address: str, now: float, wall: int) -> None:
        """Report a node of another mesh on this network, which may have been meant to join this mesh.

        Each node is reported once, and at most NEAR nodes are reported.
        """
        self._at(now, wall)
        if len(self._context.near) < NEAR and (name, address) not in self._context.near:
            self._context.near.append((name, address))
            hint = OTHER_SITE if self._context.settings.site.has_others else ONE_MESH
            self._context.event(
                "near", f"{name} at {address} belongs to another mesh, with other keys. {hint}"
            )

    def readdressed(self, address: str, also: tuple[str, ...], now: float, wall: int) -> None:
        """Change the address of this node, and announce it."""
        self._at(now, wall)
        self._context.me = msgspec.structs.replace(self._context.me, address=address, also=also)
        self.parts.neighbours.announce_addresses()
        self._facts.publish_fact(AddressesChanged())

    def answer_process(self, ask: Ask, then: Callable[[ReplyValue], None], now: float, wall: int) -> None:
        """Answer a question that the node's own process asks, as if a client had asked it.

        `then` is called with the reply's value. The question must not depend on a session.
        """
        self._at(now, wall)

        def heard(reply: Reply, _: Sequence[Envelope]) -> None:
            then(reply.value)

        self._context.face.client_verbs[ask.verb].then(IncomingCall(ask, 0, None, cast(Conn, None), heard))

    def reload(self, now: float, wall: int, by: str) -> None:
        """Read the configuration again, apply changes that need no restart, and report the result."""
        self._at(now, wall)
        self.parts.ruling.reload_and_tell(by)

    def lagged(self, seconds: float, now: float) -> None:
        """Extend the timeouts of nodes and connections by the `seconds` for which the event loop was late.

        Messages that arrived meanwhile are still unread, so silence in that time proves nothing.
        """
        self.parts.neighbours.membership.postpone(seconds)
        self.parts.piecework.lagged(seconds, now)
        for conn in self._conns.values():
            conn.heard = min(conn.heard + seconds, now)

    def report_event(self, kind: str, text: str, now: float, wall: int, level: str = "info") -> None:
        """Report an event of the shell."""
        self._at(now, wall)
        if kind == "refused":
            self._context.refused_clients.add_stranger(text, now)
        self._context.event(kind, text, level=level)

    def tick(self, now: float, wall: int) -> None:
        """Do the timed work that is due, such as closing silent connections."""
        self._at(now, wall)
        self._clock.alarm = now + ALARM
        self._closer.close_overdue()
        self._closer.log_repeats()
        for tick in self._context.face.ticks:
            tick()
        self._closer.forget_closed()
        if now - self._committed >= LAZY_COMMIT and self._context.serves:
            self._committed = now
            for tidy in self._context.face.on_seconds:
                tidy()
            self.parts.disks.commit_later()

    @property
    def alarm(self) -> float:
        """The time by which `tick` must be called next."""
        return self._clock.alarm

    def take_effects(self) -> list[Effect]:
        """End the event, and return the effects to carry out, in order."""
        self._flush()
        out = self._out
        effects, out.effects = out.effects, []
        return effects

    def _flush(self) -> None:
        """Handle all facts and the work postponed to the event's end, and then send the gathered messages."""
        facts, out, face = self._facts, self._out, self._context.face
        while facts.queue or out.ending:
            if facts.queue:
                facts.dispatch(face.fact_handlers)
            if out.ending:
                out.ending.popitem()[0]()
        for flush in face.flushes:
            flush()

    def goodbye(self, now: float, wall: int) -> None:
        """Announce an intended stop to clients and nodes, as the last event of this node."""
        self._at(now, wall)
        self._flush()  # before BYE, after which nothing is read
        self._lifecycle.announce_stop()

    # --- internals --------------------------------------------------------------------------------------

    def _at(self, now: float, wall: int) -> None:
        """Handle the remaining facts of the last event, and set the time of a new one."""
        if self._facts.queue:
            self._facts.dispatch(self._context.face.fact_handlers)
        self._clock.set_time(now, wall)
