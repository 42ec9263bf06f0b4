"""Commands of consumers, which receive messages one by one and settle each.

The component for the address (a service or a queue) handles the command.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mesh.errors import BadArgument, LocalError
from mesh.kernel.context.component import Component, HandlerEntry, on_command
from mesh.kernel.context.conn import ONLY_READS, Conn
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.subscribers.session import INBOX, REPLIES, Session
from mesh.names import ADDRESS, QUEUE, kind_of
from mesh.wire.commands import Consume, Settle
from mesh.wire.envelope import Envelope


class Consuming(Component):
    """Passes CONSUME and SETTLE to the component that delivers from the address.

    `check_new(conn, session)` raises LocalError for a client that must not begin to serve here.
    """

    def __init__(self, context: NodeContext, check_new: Callable[[Conn, Session], None]) -> None:
        self._context = context
        self._check_new = check_new

    def from_clients(self) -> Sequence[HandlerEntry]:
        return (on_command(Consume, self._consume), on_command(Settle, self._settle))

    def _consume(self, conn: Conn, session: Session, command: Consume, _: list[Envelope]) -> None:
        self._context.out.reply_to(conn, command.request, lambda: self._begin(conn, session, command))

    def _begin(self, conn: Conn, session: Session, command: Consume) -> None:
        number = command.subscription
        if not conn.may_write:
            raise LocalError(ONLY_READS, code="NOT_ALLOWED")
        if number in (INBOX, REPLIES):
            raise BadArgument(
                f"The subscription number {number} is reserved.",
                hint=f"Use a number from 1 to {REPLIES - 1}.",
            )
        kind = kind_of(command.address)
        for other, giver in self._context.face.delivery_sources.items():
            if other != kind and giver.has(session, number):
                raise BadArgument(f"The subscription number {number} is in use.", hint="Use another number.")
        gives = self._context.face.delivery_sources
        giver = gives.get(kind, gives[ADDRESS])
        if kind != QUEUE and command.credit and not giver.has(session, number):
            self._check_new(conn, session)
        giver.begin(conn, session, command)  # which rejects invalid addresses

    def _settle(self, conn: Conn, session: Session, command: Settle, envelopes: list[Envelope]) -> None:
        for giver in self._context.face.delivery_sources.values():
            if giver.has(session, command.subscription):
                giver.settle(conn, session, command, envelopes)
                return
        self._context.counters.add_count("settled_late")
        if command.request:
            what = f"No open consumer has the subscription number {command.subscription}."
            over = LocalError(what, code="LEASE_OVER")
            self._context.out.reply_to(conn, command.request, lambda: _raise(over))


def _raise(error: LocalError) -> None:
    raise error
