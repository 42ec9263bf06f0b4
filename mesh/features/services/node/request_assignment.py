"""Assigns the messages that wait at an address to its consumers, as they have credit."""

from __future__ import annotations

from collections.abc import Sequence

from mesh.features.services.model.work import GivenRun, QueuedRequests, ServedAddress, Server
from mesh.features.services.node.serving_replies import LATE, ServingReplies
from mesh.flow.sharing import shared_out
from mesh.kernel.context.node_context import NodeContext
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.commands import Answer
from mesh.wire.ttls import ttl_of


class RequestAssignment:
    """The addresses whose messages are to be assigned when the current event ends, or wait for credit."""

    def __init__(self, context: NodeContext, replies: ServingReplies) -> None:
        self._context = context
        self._replies = replies
        self._due: dict[ServedAddress, None] = {}  # addresses whose consumers may have credit
        self._waiting: dict[ServedAddress, None] = {}  # addresses whose consumers have no credit

    def forget_address(self, address: ServedAddress) -> None:
        """Forget an address that has no consumer any longer."""
        self._due.pop(address, None)
        self._waiting.pop(address, None)

    def retry_waiting(self) -> None:
        """Schedule the addresses with waiting messages, because some may have expired."""
        for address in self._waiting:
            self.schedule(address)

    def schedule(self, address: ServedAddress) -> None:
        """Schedule the assignment, as messages arrived, or consumers changed."""
        self._due[address] = None
        self._context.out.ending[self._assign_due] = None

    def on_credit(self, address: ServedAddress) -> None:
        """Schedule the assignment if messages wait for credit, as a consumer has settled some."""
        if address in self._waiting:
            self.schedule(address)

    def _assign_due(self) -> None:
        while self._due:
            address, _ = self._due.popitem()
            for server in address.servers.values():
                self._assign_own_line(address, server)
            lines = (address.here, address.elsewhere)
            for line in lines if address.turn % 2 else lines[::-1]:  # alternate which goes first
                self._assign_line(address, line)
            if address.is_waiting:
                self._waiting[address] = None
            else:
                self._waiting.pop(address, None)

    def _assign_own_line(self, address: ServedAddress, server: Server) -> None:
        while server.line:
            work, at = server.line[0]
            if work.until <= self._context.clock.now:
                server.drop_first_of_line()
                self._replies.skip(work, at, LATE, "The request expired before a server accepted it.")
                continue
            count = min(server.room, work.envelope.count - at)
            if not count:
                return
            if at + count == work.envelope.count:
                server.drop_first_of_line()
            else:
                server.line[0] = work, at + count
            self._deliver(address, server, work, range(at, at + count))

    def _assign_line(self, address: ServedAddress, line: Sequence[QueuedRequests]) -> None:
        while line:
            work = line[0]
            if work.until <= self._context.clock.now:
                address.drop(work)
                self._replies.refuse_work(work, LATE, "The request expired before a server accepted it.")
                continue
            if self._context.leaving.is_quiet:
                return
            count = work.envelope.count
            shares = shared_out(address.ready(work.requester), count - work.at)
            if not shares:
                return
            first = work.at
            for server, share in shares:
                self._deliver(address, server, work, range(work.at, work.at + share))
                work.at += share
            if work.at == count:
                address.drop(work)
            if not work.was_given:
                self._replies.answer_work(work, first, work.at, Answer("", 1, 1, matched=1), work.is_request)

    def _deliver(self, address: ServedAddress, server: Server, work: QueuedRequests, indices: range) -> None:
        address.turn += 1
        server.turn = address.turn
        whole = len(indices) == work.envelope.count
        server.holding.add(GivenRun(server.holding.given + 1, len(indices), work, indices.start))
        ttl = ttl_of(work.until, self._context.clock.now)
        stored = StoredEnvelope(work.envelope, master=self._context.me.uuid, own=True, ttl=ttl)
        server.push(server, EnvelopeSlice(stored, None if whole else tuple(indices)))
