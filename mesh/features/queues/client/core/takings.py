"""The queue consumers of a client, by subscription number."""

from __future__ import annotations

from mesh.client.core.calls import Calls, Pending
from mesh.client.core.client_context import ClientContext, Promise
from mesh.client.core.node_connection import NodeConnection
from mesh.client.core.refusals import of_code
from mesh.errors import Closed, MeshError, MeshTimeout
from mesh.features.queues.client.core.queue_consumption import QueueConsumption
from mesh.wire.commands import Ended, ItemHead, Unsubscribe
from mesh.wire.envelope import Envelope


class Takings:
    """The consumers of one session."""

    def __init__(self, context: ClientContext, line: NodeConnection, calls: Calls) -> None:
        self._context, self._line, self._calls = context, line, calls
        self._all: dict[int, QueueConsumption] = {}
        self._entering: dict[int, Promise] = {}  # resolved when the first epoch is open
        self._leaving: dict[int, Promise] = {}  # resolved when the consumer has left
        self._asked: dict[int, Pending] = {}  # unanswered CONSUME commands
        self._returned_on = 0  # the connection after which `return_all` was called

    def __len__(self) -> int:
        return len(self._all)

    @property
    def is_idle(self) -> bool:
        """True if no consumer has an unsettled message."""
        return not any(it.is_busy for it in self._all.values())

    def new_consumer(
        self, number: int, address: str, credit: int, selector: str, lease: int
    ) -> QueueConsumption:
        """Return a consumer that `register` will register. `lease` in ms; 0: none."""
        return QueueConsumption(
            self._context, self._line, self._calls, number, address, credit, selector, lease
        )

    def register(self, it: QueueConsumption) -> Promise:
        """Register the consumer; the promise resolves when its first epoch is open."""
        promise = self._context.promise()
        self._all[it.number], self._entering[it.number] = it, promise
        it.settling.answered = lambda: self._finish(it)
        it.reopen = lambda: self._open(it)
        self._open(it)
        return promise

    def _open(self, it: QueueConsumption) -> None:
        """Request an epoch, with a time limit only while a caller waits for it."""
        ask = self._calls.send_with_timeout if it.number in self._entering else self._calls.send_command
        it.is_asked = True
        pending = ask(it.asked_for, lambda: self._opened(it, pending))
        pending.refused = lambda error: self._on_refused(it, error)
        self._asked[it.number] = pending

    def _opened(self, it: QueueConsumption, pending: Pending) -> None:
        it.on_opened(pending.parts[-1][0])
        self._asked.pop(it.number, None)
        _keep(self._entering.pop(it.number, None))
        if it.is_leaving:
            self._stop(it)

    def _on_refused(self, it: QueueConsumption, error: MeshError) -> None:
        self._drop(it)
        it.fail_and_leave(error)
        if isinstance(error, MeshTimeout):
            self._calls.send_command(it.leave_command)  # the node may have registered it
        entering = self._entering.pop(it.number, None)
        if entering is not None and not entering.done():
            entering.set_exception(error)

    def end_consumption(self, it: QueueConsumption) -> Promise | None:
        """Leave the queue; the promise resolves when the node has answered, or after a reconnect.

        Return None if the consumer was left before, or there is no connection.
        """
        if it.number not in self._all or it.is_leaving:
            return None
        it.end(Closed(f"The consumer of {it.address} is closed."))
        if not self._line.is_up:
            return None  # the next connection reports it
        promise = self._leaving[it.number] = self._context.promise()
        if not (it.is_asked and it.settling.owes):  # else after the next answer
            self._stop(it)
        return promise

    def give_up(self, it: QueueConsumption) -> None:
        """Leave the queue after a failed or abandoned registration, which the node may have accepted."""
        self._entering.pop(it.number, None)
        self.end_consumption(it)

    def _stop(self, it: QueueConsumption) -> None:
        self._drop_pending(it)
        pending = self._calls.send_with_timeout(it.leave_command, lambda: self._on_left(it))
        pending.refused = lambda _: self._on_left(it)
        self._asked[it.number] = pending

    def _on_left(self, it: QueueConsumption) -> None:
        self._asked.pop(it.number, None)
        _keep(self._leaving.pop(it.number, None))
        self._finish(it)

    def _finish(self, it: QueueConsumption) -> None:
        """Drop a consumer that is leaving, when its settlements and its last command are answered."""
        if it.is_leaving and not it.settling.owes and it.number not in self._asked:
            self._all.pop(it.number, None)

    def lose_messages(self, why: str) -> None:
        """Give up all unsettled messages, of which the nodes of another site know nothing."""
        for it in self._all.values():
            it.lose_messages(why)

    def return_all(self) -> None:
        """Begin new epochs early after a reconnect, before the COMMITs that settle their messages."""
        self.end_epochs()
        self.reopen_all()
        self._returned_on = self._line.key

    def end_epochs(self) -> None:
        """End the epochs of the last connection, and drop its commands, after a reconnect."""
        if self._returned_on == self._line.key:
            return
        for it in self._all.values():
            it.on_disconnected()
            self._drop_pending(it)
            _keep(self._leaving.pop(it.number, None))

    def reopen_all(self) -> None:
        if self._returned_on == self._line.key:
            return
        for it in list(self._all.values()):
            if it.is_leaving and not it.settling.owes:
                self._stop(it)
            else:
                self._open(it)

    def on_item(
        self, number: int, head: ItemHead, envelope: Envelope, indices: tuple[int, ...] | None
    ) -> bool:
        it = self._all.get(number)
        if it is not None:
            it.on_item(head, envelope, indices)
        return it is not None

    def on_ended(self, command: Ended) -> bool:
        """Handle the end of a consumer by the node; return whether the number was that of a consumer."""
        it = self._all.get(command.subscription)
        if it is None:
            return False
        self._on_refused(it, of_code(command.code, command.text))
        self._calls.send_command(lambda request: Unsubscribe(request, command.subscription))
        return True

    def end_all(self, error: MeshError) -> None:
        """Send pending settlements and end all consumers, because the client is closed."""
        for it in list(self._all.values()):
            it.settling.flush()
            self._drop(it)
            it.fail_and_leave(error)
            entering = self._entering.pop(it.number, None)
            if entering is not None and not entering.done():
                entering.set_exception(error)

    def _drop(self, it: QueueConsumption) -> None:
        self._all.pop(it.number, None)
        self._drop_pending(it)
        _keep(self._leaving.pop(it.number, None))

    def _drop_pending(self, it: QueueConsumption) -> None:
        pending = self._asked.pop(it.number, None)
        if pending is not None:
            self._calls.drop_pending(pending)


def _keep(promise: Promise | None) -> None:
    if promise is not None and not promise.done():
        promise.set_result(None)
