"""What flows between two nodes that are logged in: items, interest, questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mesh.core.conn import Conn
from mesh.core.desk import Desk
from mesh.core.peer import Peer
from mesh.core.questions import Questions
from mesh.core.records import Record, write_record
from mesh.core.router import Router
from mesh.errors import RemoteError
from mesh.routing.interest import Interests
from mesh.routing.log import position_key
from mesh.routing.parcel import Parcel
from mesh.routing.subscriptions import check_query
from mesh.store.base import Delete, Put
from mesh.wire.commands import Ack, Call, Hello, Interest, Interested, Items, Query, Reply, Welcome
from mesh.wire.envelope import LOCAL_ONLY, Envelope
from mesh.wire.frames import body_frames
from mesh.wire.limits import ENVELOPES_A_MESSAGE

HOPS = 16


class DataLinks:
    """One direction of it is a numbered stream of items per pair of boots; the rest can be said again."""

    def __init__(self, desk: Desk, router: Router, interests: Interests, questions: Questions) -> None:
        self._desk = desk
        self._router = router
        self._interests = interests
        self._questions = questions
        self.sessions_gap: Callable[[int], None] = lambda messages: None  # set by the node

    # --- logging in ---------------------------------------------------------------------------------

    def greeting(self, peer: Peer) -> dict[str, int]:
        """How far we are with each other, for HELLO and WELCOME."""
        return {"boot_seen": peer.inlet_boot, "have": peer.inlet.have, "next": peer.outlet.next}

    def meet(self, peer: Peer, said: Hello | Welcome) -> int:
        """What the other says of that; returns how far it has our items."""
        is_new = peer.inlet_boot != peer.node.boot
        if is_new or said.next <= peer.inlet.have:
            peer.new_inlet(peer.node.boot)
            self._router.pacing.forget(peer.node.uuid)  # what it held were numbers of the old stream
        # A new process has seen our boot as well when it welcomes us, but has nothing of what we sent.
        knows_us = said.boot_seen == self._desk.me.boot and not is_new
        if knows_us and peer.outlet.can_resume(said.have):
            return said.have
        peer.outlet.restart()
        peer.feed.restart()
        return 0

    def login(self, peer: Peer, conn: Conn, have: int) -> None:
        """A data connection stands: go on where it broke off, and say what we want."""
        peer.outlet.attach(conn, have, self._desk.raw)
        self._desk.outlets[peer.outlet] = None
        peer.confirmed = -1
        self._desk.send(conn, self._interests.full(peer.upstream.received))
        for call in peer.reads.values():
            self._desk.send(conn, call)
        self._desk.acking[peer] = None  # the last acknowledgements may be lost with the last connection

    def logout(self, peer: Peer) -> None:
        peer.outlet.detach()
        peer.held_replies.clear()  # it asks again
        if peer.feed.connected:
            peer.feed.leave(self._desk.now)

    def needs_login(self, peer: Peer) -> bool:
        """Lazily: because our clients want something, because we ask something, or because we owe."""
        return bool(self._interests) or bool(peer.reads) or peer.feed.is_owed

    # --- items ----------------------------------------------------------------------------------------

    def items(self, peer: Peer, command: Items, envelopes: list[Envelope]) -> None:
        if not peer.inlet.accept(command.seq):
            self._desk.acking[peer] = None  # a repeat: the other missed our ack
            return
        for head, envelope in zip(command.heads, envelopes, strict=True):
            if head.position and head.master != peer.node.uuid:
                raise RemoteError(
                    f"{peer.node.name} sends from a log that is not its own", code="FORGED_MASTER"
                )
            if head.gaps:
                self.sessions_gap(sum(n for _, n in head.gaps))
            self._receive(peer, head.position, envelope)
        peer.taken += len(envelopes)
        state = (command.seq, peer.taken)
        # Cumulative, and in the order of arrival: held back while a live subscriber here is behind.
        self._router.pacing.hold(peer.node.uuid, (), lambda: self._may_ack(peer, state))

    def _receive(self, peer: Peer, position: int, envelope: Envelope) -> None:
        if len(envelope.route) >= HOPS:
            self._desk.count("too_many_hops")
            return
        self._desk.heard_stamp(envelope.sent)
        arrived = replace(envelope, route=(*envelope.route, self._desk.hop(1)))
        parcel = Parcel(arrived, position, peer.node.uuid)
        if position and not peer.upstream.receive(parcel):
            self._desk.count("repeated", envelope.count)
            return
        self._router.relay(parcel, peer.node.uuid, lambda: None)
        if position and not parcel.owed:
            self.released(peer, parcel)

    def _may_ack(self, peer: Peer, state: tuple[int, int]) -> None:
        if state[0] <= peer.inlet.have:  # else it belongs to a link stream that is over
            peer.ackable = max(peer.ackable, state)
        self._desk.acking[peer] = None

    def released(self, peer: Peer, parcel: Parcel) -> None:
        """Nobody here needs a parcel of that master any more."""
        if peer.upstream.release(parcel):
            self._desk.acking[peer] = None

    def flush(self) -> None:
        """Send the acknowledgements that have gathered, and replies whose turn has come."""
        for peer in [p for p in self._desk.replying if self._reply_held(p)]:
            del self._desk.replying[peer]
        for peer in self._desk.acking:
            have, taken = peer.ackable
            self._desk.send(peer.data, Ack(have, ((0, taken),), peer.upstream.settled))
        self._desk.acking.clear()

    def ack(self, peer: Peer, command: Ack) -> None:
        peer.outlet.acked(command.have)
        for _, total in command.taken:
            peer.feed.taken(total, self._desk.now)
        if peer.feed.settled(command.settled):
            key = peer.feed.key
            self._router.log.later("position", key, position_key(peer.feed, peer.feed.position))
        self._desk.outlets[peer.outlet] = None

    # --- interest ---------------------------------------------------------------------------------------

    def broadcast(self, peers: list[Peer], interest: Interest) -> None:
        for peer in peers:
            self._desk.send(peer.data, interest)

    def interest(self, peer: Peer, command: Interest) -> None:
        """What a peer's clients want from us."""
        feed, add = peer.feed, [check_query(q) for q in command.add]
        remove = [q for q in feed.queries if q not in add] if command.full else list(command.remove)
        for query in remove:
            if feed.queries.pop(query, None) is not None:
                self._router.peers.discard(feed, query)
        for query in add:
            if query not in feed.queries:
                feed.queries[query] = self._router.log.next_position
                self._router.peers.add(feed, query)
        if remove or add:
            record = write_record(peer.node.name, feed)
            self._router.log.later("feed", feed.key, Put("feed", feed.key, record))
        if command.full:
            feed.skip(command.position)
        feed.connect(self._desk.now)
        # Only what is on disk is known for sure: a crash must not make us forget whom we owe.
        self._router.commit((), lambda error: self._desk.send(peer.data, Interested(command.version)))

    def interested(self, peer: Peer, command: Interested) -> None:
        peer.confirmed = max(peer.confirmed, command.version)
        self._questions.confirmed(peer)

    def forget(self, peer: Peer) -> None:
        """It has been away for too long: what it is owed is given up."""
        for query in peer.feed.queries:
            self._router.peers.discard(peer.feed, query)
        peer.feed.queries.clear()
        peer.feed.clear()
        for table in ("feed", "position"):
            self._router.log.later(table, peer.feed.key, Delete(table, peer.feed.key))

    def restore(self, peer: Peer, record: Record, position: bytes) -> None:
        """From the store, at start: what it wanted, and how far it was."""
        record.put_into(peer.feed)
        for query in peer.feed.queries:
            self._router.peers.add(peer.feed, query)
        peer.feed.position = int.from_bytes(position)
        peer.feed.gone_since = self._desk.now

    # --- questions --------------------------------------------------------------------------------------

    def ask(self, peer: Peer, call: Call) -> None:
        peer.reads[call.request] = call
        self._desk.send(peer.data, call)

    def asked(self, peer: Peer, call: Call) -> None:
        """A peer's get: the values this node is master of."""
        if call.verb != "get":
            self._desk.send(
                peer.data, Reply(call.request, code="UNKNOWN_VERB", text=f"no verb {call.verb[:40]!r}")
            )
            return
        a = call.arguments
        query = check_query(Query(str(a.get("kind")), str(a.get("text")), str(a.get("domain", ""))))
        values = self._router.log.retained.find(query, self._desk.wall)
        found = [last.as_envelope() for last in values if not last.envelope.flags & LOCAL_ONLY]
        if a.get("after"):
            peer.held_replies.append((peer.feed.line, call.request, found))
            self._desk.replying[peer] = None
        else:
            self.reply(peer.data, call.request, found, [])

    def _reply_held(self, peer: Peer) -> bool:
        """Values must not overtake older messages that wait here for the peer. Are all replies out?"""
        held = peer.held_replies
        while held and held[0][0] <= peer.outlet.departed:
            _, request, found = held.popleft()
            self.reply(peer.data, request, found, [])
        return not held

    def reply(self, conn: Conn | None, request: int, found: list[Envelope], missing: list[str]) -> None:
        """All values, in as many messages as they need."""
        while True:
            part, found = _part(found)
            value = {"more": bool(found), "missing": missing}
            self._desk.send(conn, Reply(request, value, frames=tuple(map(body_frames, part))), part)
            if not found:
                return

    def answered(self, peer: Peer, reply: Reply, envelopes: list[Envelope]) -> None:
        more = bool(isinstance(reply.value, dict) and reply.value.get("more"))
        if not more:
            peer.reads.pop(reply.request, None)
        self._questions.answered(peer, reply.request, envelopes, more)


def _part(envelopes: list[Envelope]) -> tuple[list[Envelope], list[Envelope]]:
    """As many as fit into one message, and the rest."""
    frames = 0
    for n, envelope in enumerate(envelopes):
        frames += 1 + body_frames(envelope)
        if n and (n >= ENVELOPES_A_MESSAGE or frames > 2 * ENVELOPES_A_MESSAGE):
            return envelopes[:n], envelopes[n:]
    return envelopes, []
