"""Leaves a node for another one: finishes the client's work there first."""

# Law 1: from the beginning, new requests are kept for the next node. Replies and settlements are still sent.
# Law 2: when the work is finished, or WORK seconds later, all new messages are kept for the next node.
# Law 3: the client leaves when the node has answered all messages, or ANSWERS seconds after law 2 began.
# Law 4: the client announces that it moves, so that direct messages wait for it meanwhile.

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mesh.client.core.client_context import Alarm, ClientContext
from mesh.client.core.envelope_sender import EnvelopeSender, Hold
from mesh.client.core.node_connection import NodeConnection
from mesh.names import SENDS
from mesh.streams.outbox import Outbox
from mesh.wire.commands import Bye
from mesh.wire.connection import DRAINING, MOVING
from mesh.wire.limits import VISITS

WORK = 10.0  # s
ANSWERS = 2.0  # s
CHECK = 0.02  # s between two checks


class Departing:
    """The departure of one client from a node that is drained, or that its user does not prefer.

    `is_busy(number)` returns whether a delivery is unsettled, a call unanswered, or a request below that
    number without a reply. `finish()` sends what the client still has for the node.
    """

    def __init__(
        self,
        context: ClientContext,
        line: NodeConnection,
        sender: EnvelopeSender,
        outbox: Outbox,
        is_busy: Callable[[int], bool],
        finish: Callable[[], None],
    ) -> None:
        self._context, self._line, self._sender, self._outbox = context, line, sender, outbox
        self._is_busy, self._finish = is_busy, finish
        self._go: Callable[[], None] | None = None  # searches for the next node
        self._marks: dict[str, int] = {}  # by domain: messages below were sent to the present node
        self._until = 0.0  # end of the present stage
        self._alarm: Alarm | None = None

    def on_bye(self, bye: Bye) -> bool:
        """Begin to leave; return False if the connection ends now, as BYE has another reason."""
        line = self._line
        if bye.reason != DRAINING or not line.is_up or VISITS not in line.words:
            return False
        self.begin(partial(line.lose, "the node is being drained", bye))
        return True

    def begin(self, go: Callable[[], None]) -> None:
        """Begin to leave, unless the client is leaving already. `go` lets it search for the next node."""
        if self._go is None:
            self._go, self._marks = go, self._outbox.marks()
            self._sender.hold, self._until = Hold.REQUESTS, self._context.now + WORK
            self._check()

    def cancel(self) -> None:
        """Forget the departure, as the connection to the node has ended."""
        self._go, self._sender.hold = None, Hold.NOTHING
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _check(self) -> None:
        if self._go is None or not self._line.is_up:
            return
        sends = self._marks.get(SENDS, 1)
        is_over = self._context.now >= self._until
        if self._sender.hold is Hold.REQUESTS and (is_over or not self._is_busy(sends)):
            self._finish()
            self._sender.hold, self._until = Hold.ALL, self._context.now + ANSWERS
            self._marks, is_over = {**self._outbox.marks(), SENDS: sends}, False
        if self._sender.hold is Hold.ALL and (is_over or self._outbox.is_answered_below(self._marks)):
            go = self._go
            self.cancel()
            if VISITS in self._line.words:  # otherwise BYE would end the session
                self._line.send_command(Bye(MOVING))
            go()
            return
        self._alarm = self._context.later(CHECK, self._check)
