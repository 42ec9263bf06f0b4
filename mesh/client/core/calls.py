"""Commands to the node that wait for their replies, even across reconnects."""

# Law 1: at most UNDER_WAY calls are in flight at once. Later ones wait here, in order.
# Law 2: a command is sent once on a connection, except a CONSUME that a drained node refuses: it is repeated
#        there each REPEAT seconds, in case the drain is canceled, and at the next node.

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from mesh.client.core.client_context import Alarm, ClientContext, Promise
from mesh.client.core.node_connection import NodeConnection
from mesh.client.core.refusals import of_reply
from mesh.errors import BadArgument, MeshError, MeshTimeout, RemoteError
from mesh.shortening import shown
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope

UNDER_WAY = 256  # calls in flight
REPEAT = 1.0  # s
NODE_DRAINING = "NODE_DRAINING"

ReplyPart = tuple[Any, list[Envelope]]  # value and envelopes of a reply's part


class Pending(Struct, eq=False):
    """A command and the parts of its reply so far."""

    request: int
    command: c.Command
    promise: Promise  # resolves with all parts of the reply
    then: Callable[[], None] | None = None  # called before the promise resolves
    alarm: Alarm | None = None
    parts: list[ReplyPart] = []
    sent_on: int = 0  # the connection on which it was sent last
    refused: Callable[[MeshError], None] | None = None  # called before the promise fails


def readable(command: c.Command) -> c.Command:
    """Return `command` if its encoded form can be decoded. Raises: BadArgument otherwise.

    A node would hang up because of an undecodable command, again after each reconnect.
    """
    try:
        c.decode(c.encode(command))
    except (RemoteError, TypeError, ValueError, OverflowError, RecursionError) as error:
        name = command.verb if isinstance(command, c.Call) else type(command).__name__
        hint = (
            "Arguments may be str, bytes, numbers of up to 64 bits, True, False, None, and lists and dicts "
            "of these; keys must be str."
        )
        why = str(error)
        if isinstance(error, RemoteError):
            why = str(error.__cause__ or error.what)
            hint = "Pass shorter arguments." if error.code == "FRAME_TOO_LARGE" else hint
        elif isinstance(error, RecursionError):
            why, hint = "its arguments are nested too deeply", "Pass flatter lists and dicts."
        raise BadArgument(f"The call {shown(name)} cannot be sent: {why}.", hint=hint) from None
    return command


class Calls:
    """The commands of a client that wait for replies, by request number.

    Each command is sent again after a reconnect, so executing one twice must do no harm. `timeout` is in s;
    inf means no limit.
    """

    def __init__(self, context: ClientContext, line: NodeConnection, timeout: float) -> None:
        self.others: Callable[[c.Reply], None] = lambda reply: None  # gets replies to no command here
        self._context, self._line = context, line
        self._timeout = timeout
        self._pending: dict[int, Pending] = {}
        self._calling: set[int] = set()  # numbers of calls in flight
        self._waiting: dict[int, Pending] = {}  # calls that are not sent yet
        self._deferred: dict[int, Alarm] = {}  # refused by a drained node
        self._request = 0
        self._closed: MeshError | None = None

    @property
    def count(self) -> int:
        return len(self._pending)

    @property
    def is_idle(self) -> bool:
        """True if no command waits for a reply of the present node."""
        return len(self._pending) == len(self._deferred)

    def send_with_timeout(
        self, make: Callable[[int], c.Command], then: Callable[[], None] | None = None
    ) -> Pending:
        """Send a command; the promise resolves with the parts of its reply.

        The promise fails with the node's error, MeshTimeout or the error of `close`. `then` is called when a
        reply that is not an error is complete, before any later command is handled. Raises: BadArgument, or
        the error of `close`.
        """
        if self._closed is not None:
            raise self._closed
        self._request += 1
        pending = self._added(readable(make(self._request)), then)
        if self._timeout < float("inf"):
            self._watch(pending)
        if isinstance(pending.command, c.Call) and len(self._calling) >= UNDER_WAY:
            self._waiting[pending.request] = pending
        else:
            self._send(pending)
        return pending

    def _send(self, pending: Pending) -> None:
        if isinstance(pending.command, c.Call):
            self._calling.add(pending.request)
        if self._line.send_command(pending.command):
            pending.sent_on = self._line.key

    def send_command(
        self, make: Callable[[int], c.Command], then: Callable[[], None] | None = None
    ) -> Pending:
        """Send a command without a time limit, or keep it until the client is connected."""
        self._request += 1
        pending = self._added(make(self._request), then)
        self._send(pending)
        return pending

    def _added(self, command: c.Command, then: Callable[[], None] | None = None) -> Pending:
        pending = Pending(self._request, command, self._context.promise(), then)
        self._pending[pending.request] = pending
        return pending

    def drop_pending(self, pending: Pending) -> None:
        """Drop a command that is answered or abandoned, and send waiting calls in its place."""
        self._pending.pop(pending.request, None)
        self._waiting.pop(pending.request, None)
        self._calling.discard(pending.request)
        if pending.alarm is not None:
            pending.alarm.cancel()
        if (deferred := self._deferred.pop(pending.request, None)) is not None:
            deferred.cancel()
        while self._waiting and len(self._calling) < UNDER_WAY and self._closed is None:
            self._send(self._waiting.pop(next(iter(self._waiting))))

    def _watch(self, pending: Pending) -> None:
        pending.alarm = self._context.later(self._timeout, lambda: self._time(pending))

    def _time(self, pending: Pending) -> None:
        """Fail the command with MeshTimeout, or wait again if a long message made progress meanwhile."""
        if self._context.now - self._line.moved < self._timeout:
            self._watch(pending)
            return
        self.drop_pending(pending)
        node = f"Node {self._line.home!r}" if self._line.home else "The node"
        what = f"{node} did not answer within {self._timeout:g} s."
        _break(pending, MeshTimeout(what, hint="Check that the node runs and is reachable."))

    def on_reply(self, reply: c.Reply, envelopes: list[Envelope]) -> None:
        pending = self._pending.get(reply.request)
        if pending is None:
            self.others(reply)
            return
        pending.parts.append((reply.value, envelopes))
        if reply.code == NODE_DRAINING and isinstance(pending.command, c.Consume):
            self._defer(pending)
        elif reply.code:
            self.drop_pending(pending)
            _break(pending, of_reply(reply))
        elif not (isinstance(reply.value, dict) and reply.value.get("more") is True):
            self.drop_pending(pending)
            if pending.then is not None:
                pending.then()
            if not pending.promise.done():
                pending.promise.set_result(pending.parts)

    def _defer(self, pending: Pending) -> None:
        if pending.request not in self._deferred:
            again = self._context.later(REPEAT, lambda: self._repeat(pending))
            self._deferred[pending.request] = again

    def _repeat(self, pending: Pending) -> None:
        del self._deferred[pending.request]
        pending.parts.clear()
        self._send(pending)

    def resend_all(self) -> None:
        """Send all commands after a reconnect, except commands that were sent on the new connection."""
        for deferred in self._deferred.values():
            deferred.cancel()
        self._deferred.clear()
        for pending in self._pending.values():
            if pending.request not in self._waiting and pending.sent_on != self._line.key:
                pending.parts.clear()
                self._send(pending)

    def close(self, error: MeshError) -> None:
        """Fail all open commands with `error`, and all later ones with a time limit."""
        self._closed = error
        for pending in list(self._pending.values()):
            self.drop_pending(pending)
            _break(pending, error)


def _break(pending: Pending, error: MeshError) -> None:
    if pending.refused is not None:
        pending.refused(error)
    if not pending.promise.done():
        pending.promise.set_exception(error)
