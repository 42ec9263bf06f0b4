"""The services and group memberships of a client, by subscription number."""

from __future__ import annotations

from mesh.client.core.calls import Calls, Pending
from mesh.client.core.client_context import ClientContext
from mesh.client.core.node_connection import NodeConnection
from mesh.errors import Closed, LocalError, MeshError
from mesh.features.services.client.core.serving import ClientServing
from mesh.names import address_text
from mesh.wire.commands import Ended, ItemHead, Unsubscribe
from mesh.wire.envelope import Envelope


class ClientServices:
    """The services and group memberships of one session."""

    def __init__(self, context: ClientContext, line: NodeConnection, calls: Calls, stream: bytes) -> None:
        self._context, self._line, self._calls, self._stream = context, line, calls, stream
        self._all: dict[int, ClientServing] = {}
        self._asked: dict[int, Pending] = {}  # the last registration command of each service

    def __len__(self) -> int:
        return len(self._all)

    @property
    def is_idle(self) -> bool:
        """True if no service has an unsettled message."""
        return not any(it.is_busy for it in self._all.values())

    def new_service(self, number: int, address: str, credit: int, local_only: bool) -> ClientServing:
        return ClientServing(self._context, self._line, self._stream, number, address, credit, local_only)

    def register(self, it: ClientServing) -> Pending:
        pending = self._calls.send_with_timeout(it.asked_for, lambda: self._opened(it, pending))
        self._all[it.number], self._asked[it.number] = it, pending
        it.is_asked = True
        return pending

    def _opened(self, it: ClientServing, pending: Pending) -> None:
        value = pending.parts[-1][0]
        it.on_opened(value.get("epoch") if isinstance(value, dict) else None)

    def unregister(self, it: ClientServing) -> Pending | None:
        """End a service, and give up its open requests. Return the command whose reply the caller awaits.

        Return None if the service is unknown or ended with its connection.
        """
        if self._all.pop(it.number, None) is None:
            return None
        it.flush()
        gone = Closed(f"The registration of {address_text(it.address)} has ended.")
        it.end_with(gone)
        self._ask_no_more(it, gone)
        if self._line.is_up:
            return self._calls.send_with_timeout(lambda request: it.asked_for(request, 0))
        return None  # the service ended with the connection

    def give_up(self, it: ClientServing) -> None:
        """Drop a failed or abandoned service, which the node may have accepted."""
        if self._all.pop(it.number, None) is not None:
            self._ask_no_more(it, Closed(f"The registration of {address_text(it.address)} was canceled."))
            if self._line.is_up:
                self._calls.send_command(lambda request: it.asked_for(request, 0))

    def _ask_no_more(self, it: ClientServing, why: MeshError) -> None:
        """Drop the last registration command, so that no later connection repeats it.

        The promise of an unanswered command fails with `why`.
        """
        pending = self._asked.pop(it.number)
        self._calls.drop_pending(pending)
        if not pending.promise.done():
            pending.promise.set_exception(why)

    def reopen_all(self) -> None:
        """Request new epochs after a reconnect, since an epoch ends with its connection."""
        for it in self._all.values():
            it.on_disconnected()
            if not it.is_asked:  # otherwise `Calls` repeats the command
                it.is_asked = True
                self._ask_again(it)

    def _ask_again(self, it: ClientServing) -> None:
        def refused(error: MeshError) -> None:
            self._all.pop(it.number, None)
            self._asked.pop(it.number, None)
            it.end_with(error)

        pending = self._calls.send_command(it.asked_for, lambda: self._opened(it, pending))
        pending.refused = refused
        self._asked[it.number] = pending

    def on_item(
        self, number: int, head: ItemHead, envelope: Envelope, indices: tuple[int, ...] | None
    ) -> None:
        it = self._all.get(number)
        if it is not None:
            it.on_item(envelope, indices, head.ttl)

    def on_ended(self, command: Ended) -> bool:
        """Handle the end of a service by the node; return whether the number was that of a service."""
        it = self._all.pop(command.subscription, None)
        if it is None:
            return False
        self._asked.pop(it.number, None)
        it.end_with(LocalError(command.text.removesuffix(f" [{command.code}]"), code=command.code))
        self._calls.send_command(lambda request: Unsubscribe(request, command.subscription))
        return True

    def end_all(self, error: MeshError) -> None:
        """Send pending settlements and end all services, because the client is closed."""
        for it in self._all.values():
            it.flush()
            it.end_with(error)
        self._all.clear()
        self._asked.clear()
