"""What flows between two nodes that are logged in: items, interest, questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from mesh.core.conn import Conn
from mesh.core.demand import Demand
from mesh.core.desk import Desk
from mesh.core.effects import Stop
from mesh.core.forwarder import HOPS, Forwarder
from mesh.core.peer import Peer
from mesh.core.questions import Questions
from mesh.core.records import Record, query_key, write_record
from mesh.core.router import Router
from mesh.errors import RemoteError
from mesh.routing.log import position_key
from mesh.routing.parcel import Parcel
from mesh.routing.subscriptions import check_query
from mesh.routing.upstream import Upstream
from mesh.store.base import Delete, Put
from mesh.wire.commands import Ack, Call, Hello, Interest, Interested, Items, Query, Welcome
from mesh.wire.envelope import Envelope


class DataLinks:
    """One direction of it is a numbered stream of items per pair of boots; the rest can be said again."""

    def __init__(
        self, desk: Desk, router: Router, demand: Demand, questions: Questions, forwarder: Forwarder
    ) -> None:
        self._desk = desk
        self._router = router
        self._demand = demand
        self._questions = questions
        self._forwarder = forwarder
        # master -> how far its log has come here, and the peer that brought it so far
        self._furthest: dict[bytes, tuple[int, bytes]] = {}
        # Set by the node.
        self.missed: Callable[[Peer, int], None] = lambda source, messages: None
        self.received: Callable[[], dict[bytes, int]] = dict
        self.is_usable: Callable[[Peer], bool] = lambda peer: True

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
        self._desk.event("link", f"{peer.node.name}: logged in", peer.node)
        self._desk.outlets[peer.outlet] = None
        peer.confirmed = -1
        self._desk.send(conn, self._demand.full(peer))
        for call in peer.reads.values():
            self._desk.send(conn, call)
        self._desk.acking[peer] = None  # the last acknowledgements may be lost with the last connection
        peer.lost_at = None
        self._router.cache.clear()  # a newer value may have passed us by
        self._forwarder.linked(peer)

    def logout(self, peer: Peer) -> None:
        if peer.outlet.conn is not None:
            self._desk.event("link", f"{peer.node.name}: logged out", peer.node)
        peer.outlet.detach()
        peer.held_replies.clear()  # it asks again
        peer.held_versions.clear()
        peer.lost_at = self._desk.now if peer.lost_at is None else peer.lost_at
        if peer.feed.connected:
            peer.feed.leave(self._desk.now)
        self._forwarder.unlinked(peer)

    def needs_login(self, peer: Peer) -> bool:
        """Lazily: because something is wanted from it, asked, owed to it, or waits for it."""
        is_needed = self._demand.needs(peer) or peer.reads or peer.feed.is_owed
        return self.is_usable(peer) and (bool(is_needed) or self._forwarder.needs_login(peer))

    # --- items ----------------------------------------------------------------------------------------

    def items(self, peer: Peer, command: Items, envelopes: list[Envelope]) -> None:
        if not peer.inlet.accept(command.seq):
            self._desk.acking[peer] = None  # a repeat: the other missed our ack
            return
        for head, envelope in zip(command.heads, envelopes, strict=True):
            position = head.position if envelope.persistent else 0
            if position and head.master != peer.node.uuid and not self._demand.has_ways:
                raise RemoteError(
                    f"{peer.node.name} sends from a log that is not its own", code="FORGED_MASTER"
                )
            if head.gaps:
                self.missed(peer, sum(n for _, n in head.gaps))
                self._router.cache.clear()
            self._receive(peer, head.master or peer.node.uuid, position, head.position - position, envelope)
        peer.taken += len(envelopes)
        state = (command.seq, peer.taken)
        # Cumulative, and in the order of arrival: held back while a live subscriber here is behind.
        self._router.pacing.hold(peer.node.uuid, (), lambda: self._may_ack(peer, state))

    def _receive(self, peer: Peer, master: bytes, position: int, after: int, envelope: Envelope) -> None:
        far = envelope.route[-1].stratum + 1 if envelope.route else 1  # from its master
        if far >= HOPS:
            self._desk.count("too_many_hops")
            return
        self._desk.heard_stamp(envelope.sent)
        arrived = replace(envelope, route=(*envelope.route, self._desk.hop(far)))
        parcel = Parcel(arrived, position, master, source=peer.node.uuid, after=after)
        if position and not peer.upstreams.setdefault(master, Upstream()).receive(parcel):
            self._desk.count("repeated", envelope.count)
            self._desk.acking[peer] = None
            return
        parcel.is_late = self._is_behind(parcel)
        if self._demand.has_several:
            self._merge(peer, parcel)
        else:
            self._relay(peer, parcel)

    def _is_behind(self, parcel: Parcel) -> bool:
        """Has another peer brought that log further already? Then this one was the way before, and was away:
        what it still holds for us was not dropped for anybody here."""
        place = parcel.position or parcel.after
        furthest, by = self._furthest.get(parcel.master, (0, b""))
        if place >= furthest:
            self._furthest[parcel.master] = (place, parcel.source)
            return False
        return by != parcel.source

    def _merge(self, peer: Peer, parcel: Parcel) -> None:
        """Another master may have brought it before."""
        merging = self._demand.merging
        news = merging.take(parcel)
        if news is not None and not news:
            self._desk.count("repeated", parcel.envelope.count)
            if parcel.position and not merging.waits(parcel):
                self.released(peer, parcel)
            return
        if news:
            piece = parcel.envelope.cut(news)
            parcel = Parcel(
                piece, parcel.position, parcel.master, source=parcel.source, after=parcel.after,
                is_late=parcel.is_late,
            )  # fmt: skip
        self._relay(peer, parcel)
        if parcel.owed:
            merging.keep(parcel)

    def _relay(self, peer: Peer, parcel: Parcel) -> None:
        self._router.relay(parcel)
        if parcel.position and not parcel.owed:
            self.released(peer, parcel)

    def _may_ack(self, peer: Peer, state: tuple[int, int]) -> None:
        if state[0] <= peer.inlet.have:  # else it belongs to a link stream that is over
            peer.ackable = max(peer.ackable, state)
        self._desk.acking[peer] = None

    def released(self, peer: Peer, parcel: Parcel) -> None:
        """Nobody here needs a parcel of that master any more."""
        if peer.upstreams[parcel.master].release(parcel):
            self._desk.acking[peer] = None
        for repeat in self._demand.merging.released(parcel) if self._demand.has_several else ():
            other = self._demand.peer(repeat.source)
            if other is not None:
                self.released(other, repeat)

    def flush(self) -> None:
        """Send the acknowledgements that have gathered, and replies whose turn has come."""
        for peer in [p for p in self._desk.replying if self._reply_held(p)]:
            del self._desk.replying[peer]
        for peer in self._desk.acking:
            have, taken = peer.ackable
            settled = tuple((master, u.settled) for master, u in peer.upstreams.items())
            self._desk.send(peer.data, Ack(have, ((0, taken),), settled))
        self._desk.acking.clear()

    def ack(self, peer: Peer, command: Ack) -> None:
        peer.outlet.acked(command.have)
        for _, total in command.taken:
            peer.feed.taken(total, self._desk.now)
        for master, position in command.settled:
            if peer.feed.settled(master, position):
                key = peer.feed.key
                self._router.log.later("position", key, position_key(peer.feed, peer.feed.position))
        self._desk.outlets[peer.outlet] = None

    # --- interest ---------------------------------------------------------------------------------------

    def interest(self, peer: Peer, command: Interest) -> None:
        """What a peer wants from us, for its clients or for those to whom it is the way."""
        if self._went_backwards(peer, command):
            return
        feed, add = peer.feed, dict.fromkeys(check_query(q) for q in command.add)
        remove = [q for q in feed.queries if q not in add] if command.full else list(command.remove)
        for query in remove:
            if query in feed.queries:
                self._drop(peer, query)
        for query in add:
            if query not in feed.queries:
                since = {master: position for master, position in self.received().items() if position}
                feed.asked(query, self._router.log.next_position, since)
                self._add(peer, query)
                self._keep(peer, query)
        for master, position in command.positions:
            feed.skip(master, position)
        feed.connect(self._desk.now)
        self._confirm(peer, command.version, add)

    def _went_backwards(self, peer: Peer, command: Interest) -> bool:
        """Has the peer something of our own log that we have not? Then it would take what we write there
        next for a repeat, and lose it."""
        ours = self._router.log.next_position
        known = max((place for master, place in command.positions if master == self._desk.me.uuid), default=0)
        if known < ours:
            return False
        what = f"The store went backwards: {peer.node.name} has position {known} of its log, {ours} is next."
        hint = "Put the newest copy of it back, or, to go on without what is lost: mesh up --accept-rollback"
        self._desk.emit(Stop(f"{what} {hint}", "STORE_ROLLED_BACK", known + 1))
        return True

    def _confirm(self, peer: Peer, version: int, added: Iterable[Query]) -> None:
        """Say that we have it, when it is on disk (a crash must not make us forget whom we owe), and when
        those whom we have to ask for it know it as well."""
        done = [False]
        peer.held_versions.append((version, done))

        def known() -> None:
            done[0] = True
            while peer.held_versions and peer.held_versions[0][1][0]:
                self._desk.send(peer.data, Interested(peer.held_versions.popleft()[0]))

        def stored() -> None:
            uuid = peer.node.uuid
            targets = {target for q in added for target in self._demand.targets(q, {uuid})}
            need = self._demand.unconfirmed(targets) if targets else {}
            self._questions.confirm(need, known)

        self._router.commit((), lambda error: stored())

    def _add(self, peer: Peer, query: Query) -> None:
        self._router.peers.add(peer.feed, query)
        if self._demand.is_relayed(query):
            self._router.relays.add(peer.feed, query)
            self._demand.want(query, by=peer.node.uuid)
            peer.relayed.add(query)

    def _drop(self, peer: Peer, query: Query) -> None:
        del peer.feed.queries[query]
        peer.feed.since.pop(query, None)
        self._delete("feed", query_key(peer.feed, query))
        self._router.peers.discard(peer.feed, query)
        if query in peer.relayed:
            peer.relayed.discard(query)
            self._router.relays.discard(peer.feed, query)
            self._demand.unwant(query, by=peer.node.uuid)

    def _keep(self, peer: Peer, query: Query) -> None:
        """On disk, with the next commit."""
        key, record = query_key(peer.feed, query), write_record(peer.node.name, peer.feed, query)
        self._router.log.later("feed", key, Put("feed", key, record))

    def _delete(self, table: str, key: bytes) -> None:
        self._router.log.later(table, key, Delete(table, key))

    def interested(self, peer: Peer, command: Interested) -> None:
        peer.confirmed = max(peer.confirmed, command.version)
        self._questions.confirmed(peer)

    def forget(self, peer: Peer) -> None:
        """It has been away for too long: what it is owed is given up."""
        for query in list(peer.feed.queries):
            self._drop(peer, query)
        peer.feed.clear()
        self._delete("position", peer.feed.key)

    def restore(self, peer: Peer, key: bytes, record: Record, position: bytes) -> None:
        """From the store, at start: what it wanted, and how far it was."""
        record.put_into(peer.feed)
        for query, _ in record.queries:
            self._add(peer, query)
        if key == peer.feed.key:  # of an earlier release
            self._delete("feed", key)
            for query, _ in record.queries:
                self._keep(peer, query)
        peer.feed.position = int.from_bytes(position)
        peer.feed.gone_since = self._desk.now

    # --- questions --------------------------------------------------------------------------------------

    def ask(self, peer: Peer, call: Call) -> None:
        peer.reads[call.request] = call
        self._desk.send(peer.data, call)

    def reply_after(self, peer: Peer, send: Callable[[], None]) -> None:
        """Send it after the items that wait for the peer by now: values must not overtake older messages."""
        peer.held_replies.append((peer.feed.line, send))
        self._desk.replying[peer] = None

    def _reply_held(self, peer: Peer) -> bool:
        """Are all replies out?"""
        held = peer.held_replies
        while held and held[0][0] <= peer.outlet.departed:
            held.popleft()[1]()
        return not held
