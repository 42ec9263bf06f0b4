"""Serves addresses at this node: registers consumers, accepts messages, and settles deliveries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from mesh.features.services.model.work import QueuedRequests, ServedAddress, Server, works_of
from mesh.features.services.node import serving_checks as checks
from mesh.features.services.node.departed import DepartedAddresses
from mesh.features.services.node.request_assignment import RequestAssignment
from mesh.features.services.node.serving_replies import FULL, LOST, NOBODY, ServingReplies
from mesh.flow.outstanding_deliveries import ranges_of
from mesh.kernel.context.component import Component, DeliverySource, Share
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.facts import Hearing, InboundClosed, LeavingChanged, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.presence.members import GroupMembers
from mesh.kernel.presence.presence import Presence
from mesh.kernel.presence.reply_batch import ReplyBatch
from mesh.kernel.subscribers.facts import SessionAway
from mesh.kernel.subscribers.session import Session, feed_key
from mesh.names import ADDRESS, is_group
from mesh.printable import harmless
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.requester import Requester
from mesh.wire.commands import Answer, Consume, Ping, Reply, Settle
from mesh.wire.envelope import Envelope
from mesh.wire.serving import pack_numbers
from mesh.wire.ttls import end_of

ALL = 2**32 - 1  # all delivery tags


class ServedAddresses(Component):
    """Component for the addresses served here.

    Answers and replies are sent through `back`.
    """

    def __init__(
        self, context: NodeContext, presence: Presence, members: GroupMembers, back: ReplyBatch
    ) -> None:
        self._context = context
        self._presence = presence
        self._members = members
        self._back = back
        self.addresses: dict[str, ServedAddress] = {}
        self._of: dict[Session, dict[int, tuple[ServedAddress, Server]]] = {}  # by subscription number
        self._replies = ServingReplies(context, back)
        self._assignment = RequestAssignment(context, self._replies)
        self._departed = DepartedAddresses(context)
        self._epoch = 0
        self._served = 0  # messages settled without a reply

    def delivery_sources(self) -> Mapping[str, DeliverySource]:
        return {ADDRESS: self}

    def has(self, session: Session, number: int) -> bool:
        return number in self._of.get(session, ())

    def has_consumer(self, session: Session) -> bool:
        return bool(self._of.get(session))

    def has_work(self, session: Session) -> bool:
        return any(server.busy for _, server in self._of.get(session, {}).values())

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(SessionAway, lambda fact: self._gone(fact.session)),
            on_fact(InboundClosed, lambda _: self._ping_all()),
            on_fact(LeavingChanged, lambda _: self._on_leaving()),
        )

    def figures(self) -> dict[str, int | float]:
        return {
            "served": self._served + self._replies.replied,
            "servers": sum(map(len, self._of.values())),
            "address_waiting_bytes": sum(address.waiting_bytes for address in self.addresses.values()),
        }

    def holds_for_sessions(self) -> int:
        return sum(size for _, _, size in self.shares())

    def shares(self) -> Iterator[Share]:
        """Yield delivered messages that are not settled, and messages that wait for consumers."""
        seen = set[ServedAddress]()
        for session, served in self._of.items():
            for address, server in served.values():
                for work in works_of(server, address, address not in seen):
                    yield session, work.envelope.body, work.size
                seen.add(address)

    def here(self, name: str, is_ours: bool) -> int:
        """Return how many consumers here serve the address.

        `is_ours` means that a client here sends, so that local-only consumers count too.
        """
        address = self.addresses.get(name)
        if address is None:
            return 0
        if address in self._departed:
            return 1
        return len(address.servers) if is_ours else address.consumers

    # --- registration -----------------------------------------------------------------------------------

    def begin(self, conn: Conn, session: Session, command: Consume) -> None:
        """Register, change or end a consumer, and reply with its epoch. Raises: LocalError.

        Credit 0 ends the consumer. A new group member receives the reply once other nodes know the member.
        """
        checks.check_registration(command)
        number, address = command.subscription, command.address
        ours = self._of.setdefault(session, {})
        if number in ours:
            self._end_consumer(session, number, ALL if command.credit else command.begun)
        if command.credit:
            checks.check_count(session.name, len(ours), self._context.settings.max_subscriptions)
            self._open(session, command, address)
        reply = Reply(command.request, {"epoch": self._epoch})
        if command.credit and is_group(address):
            self._join(conn, reply, *ours[number], command.credit)
        else:
            self._context.out.send(conn, reply)

    def _join(self, conn: Conn, reply: Reply, address: ServedAddress, server: Server, credit: int) -> None:
        """Confirm a new group member once other nodes know it. Until then it receives no messages."""
        server.credit = 0

        def known() -> None:
            server.credit = credit
            self._context.out.send(conn, reply)
            self._assignment.schedule(address)

        self._members.joined(address.name, address.consumers, known)

    def _open(self, session: Session, command: Consume, name: str) -> None:
        address = self.addresses.get(name) or ServedAddress(name)
        if is_group(name):
            self._members.check_room(name)
        elif not (command.local_only or address.consumers):
            self._presence.check_room((ADDRESS, name))
        self.addresses[name] = address
        self._departed.take_back(address)
        self._epoch += 1
        key = feed_key(session.stream, command.subscription)

        def push(server: Server, slice_: EnvelopeSlice) -> None:
            self._context.out.push_slice(session.outlet, server, slice_)

        server = Server(key, self._epoch, command.credit, command.local_only, session.text, push)
        address.servers[key] = server
        self._of[session][command.subscription] = address, server
        self._announce_address(address)
        self._assignment.schedule(address)

    def _end_consumer(self, session: Session, number: int, begun: int = ALL) -> None:
        """End a consumer.

        Messages up to the tag `begun`, and messages to all consumers, are lost; the others go to other
        consumers.
        """
        address, server = self._of[session].pop(number)
        del address.servers[server.key]
        is_kept = not address.servers and self._departed.add_address(address)
        if not is_kept:
            self._announce_address(address)
        session.outlet.drop_slices(server)
        for run in reversed(server.holding.take_all()):
            last = run.tag + run.n - 1
            lost = last if run.work.is_for_all else min(begun, last)
            if lost < last:
                address.add_first(run.part(max(lost + 1, run.tag), last).as_work())
            if run.tag <= lost:
                text = f"{server.name} stopped serving before a reply. It may have run the request."
                self._replies.fail_run(run.part(run.tag, lost), LOST, text)
        for work, at in server.line:
            self._replies.skip(
                work, at, LOST, f"{server.name} stopped serving before it accepted the message."
            )
        if not is_kept:
            self._refuse_unserved(address)

    def _refuse_unserved(self, address: ServedAddress) -> None:
        """Refuse the messages that no consumer here can get, and forget an address without consumers."""
        for work in address.waiting_work():
            if not address.ready(work.requester):
                address.drop(work)
                self._replies.refuse_work(
                    work, NOBODY, f"No client serves {address.name} at {self._context.me.name} any longer."
                )
        if address.servers:
            self._assignment.schedule(address)
        else:
            del self.addresses[address.name]
            self._assignment.forget_address(address)

    def _on_leaving(self) -> None:
        """Schedule all addresses, whose consumers get nothing, or get messages again."""
        for address in self.addresses.values():
            self._assignment.schedule(address)
        self._context.clock.wake(self._context.clock.now)

    def _gone(self, session: Session) -> None:
        for number in list(self._of.get(session, ())):
            self._end_consumer(session, number)
        self._of.pop(session, None)

    def _ping_all(self) -> None:
        """Ping all consumers, so that a lost connection is detected soon."""
        for session in self._of:
            self._context.out.send(session.conn, Ping(0))

    def _announce_address(self, address: ServedAddress) -> None:
        name = (ADDRESS, address.name)
        if is_group(address.name):
            if self._members.own.get(address.name, 0) != address.consumers:
                self._members.joined(address.name, address.consumers, lambda: None)
        else:
            self._presence.serve(name, address.consumers, pack_numbers(address.numbers))

    # --- received messages ------------------------------------------------------------------------------

    def accept(self, requester: Requester, envelope: Envelope, ttl: int) -> None:
        """Accept messages for an address here, or refuse them if it has no consumer or no room.

        `ttl` is their remaining time in ms; 0 means no limit.
        """
        until = end_of(ttl, self._context.clock.now)
        work = QueuedRequests(self._as_delivered(envelope), requester, until, self._context.clock.now)
        address = self.addresses.get(envelope.to)
        ready = address.ready(requester) if address is not None else []
        is_departed = address in self._departed and not work.is_for_all
        if address is None or not (ready or is_departed):
            self._replies.refuse_work(
                work, NOBODY, f"No client serves {harmless(envelope.to)} at {self._context.me.name}."
            )
        elif (ahead := address.bytes_ahead(work)) + work.size > self._context.settings.backlog_bytes:
            most = self._context.settings.backlog_bytes
            text = (
                f"{work.size:,} bytes for {envelope.to} do not fit into the limit of {most:,} waiting bytes."
            )
            if ahead:
                text = f"The servers of {envelope.to} are too slow: {ahead:,} bytes wait for them."
            self._replies.refuse_work(work, FULL, text)
        elif work.is_for_all:
            self._to_all(work, ready)
            self._assignment.schedule(address)
        else:
            address.add(work)
            self._assignment.schedule(address)

    def _as_delivered(self, e: Envelope) -> Envelope:
        """Return the envelope as it is delivered.

        Messages for a group have passed their master, and keep their route.
        """
        if not is_group(e.to):
            return e.mastered(self._context.clock.stamp(), self._context.hop(0))
        far = e.route[-1].stratum + 1 if e.route else 1
        is_ours = bool(e.route) and e.route[-1].node == self._context.me.name
        return replace(e, to="", route=e.route if is_ours else (*e.route, self._context.hop(far)))

    def _to_all(self, work: QueuedRequests, ready: Sequence[Server]) -> None:
        for server in ready:
            server.add_to_line(work)
        self._replies.answer_work(work, 0, work.envelope.count, Answer("", 1, 1, matched=len(ready)))

    def tick(self) -> None:
        self._back.tick()
        for address in self._departed.take_due():
            self._announce_address(address)
            self._refuse_unserved(address)

    def on_second(self) -> None:
        self._assignment.retry_waiting()

    # --- settlement -------------------------------------------------------------------------------------

    def settle(self, conn: Conn, session: Session, command: Settle, envelopes: list[Envelope]) -> None:
        """Settle deliveries, and send their replies. Raises: RemoteError for an invalid command.

        Tags that were never assigned are invalid. A command for a consumer that has ended changes nothing.
        """
        checks.check_replies(command, envelopes)
        address, server = self._of.get(session, {}).get(command.subscription, (None, None))
        if address is None or server is None or server.epoch != command.epoch:
            self._context.counters.add_count("settled_late")
            return
        checks.check_settlement(command, address.name)
        if envelopes:
            self._replies.send_replies(server, command, envelopes[0])
        for first, last in ranges_of(command.done) if command.done else ():
            for run in server.holding.settle(first, last):
                self._served += run.n
                text = f"{server.name} finished the request without a reply."
                self._replies.fail_run(run, "REQUEST_FAILED", text)
        self._assignment.on_credit(address)
