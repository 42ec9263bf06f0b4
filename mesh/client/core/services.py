"""All addresses that a client serves, by the numbers of their subscriptions."""

from __future__ import annotations

from mesh.client.core.calls import Calls, Pending
from mesh.client.core.desk import ClientDesk
from mesh.client.core.line import Line
from mesh.client.core.serving import ClientServing
from mesh.errors import Closed, LocalError, MeshError
from mesh.wire.commands import Ended, ItemHead, Unsubscribe
from mesh.wire.envelope import Envelope


class ClientServices:
    """The services of one session."""

    def __init__(self, desk: ClientDesk, line: Line, calls: Calls, stream: bytes) -> None:
        self._desk, self._line, self._calls, self._stream = desk, line, calls, stream
        self._all: dict[int, ClientServing] = {}
        self._asked: dict[int, Pending] = {}  # the last question for each, which may be open

    def __len__(self) -> int:
        return len(self._all)

    def make(self, number: int, address: str, credit: int, local_only: bool) -> ClientServing:
        """One that is not asked for yet: `enter` does that."""
        return ClientServing(self._desk, self._line, self._stream, number, address, credit, local_only)

    def enter(self, it: ClientServing) -> Pending:
        """Ask for it."""
        pending = self._calls.ask(it.asked_for, lambda: self._opened(it, pending))
        self._all[it.number], self._asked[it.number] = it, pending
        it.is_asked = True
        return pending

    def _opened(self, it: ClientServing, pending: Pending) -> None:
        value = pending.parts[-1][0]
        it.opened(value.get("epoch") if isinstance(value, dict) else None)

    def leave(self, it: ClientServing) -> Pending | None:
        """Serve it no more; None: there is no reply to wait for. What is out is given up."""
        if self._all.pop(it.number, None) is None:
            return None
        it.flush()
        gone = Closed("it is served no more.")
        it.end(gone)
        self._ask_no_more(it, gone)
        if self._line.is_up:
            return self._calls.ask(lambda request: it.asked_for(request, 0))
        return None  # with the connection it has ended

    def give_up(self, it: ClientServing) -> None:
        """It was asked for in vain, or nobody waits any more; the node may have it."""
        if self._all.pop(it.number, None) is not None:
            self._ask_no_more(it, Closed("it was given up."))
            if self._line.is_up:
                self._calls.tell(lambda request: it.asked_for(request, 0))

    def _ask_no_more(self, it: ClientServing, why: MeshError) -> None:
        """Else it would be asked for on the next connection, and nobody would take what came."""
        pending = self._asked.pop(it.number)
        self._calls.forget(pending)
        if not pending.promise.done():
            pending.promise.set_exception(why)

    def again(self) -> None:
        """Connected again: an epoch ends with its connection, so ask for new ones."""
        for it in self._all.values():
            it.void()
            if not it.is_asked:  # else it is asked again with all other questions
                it.is_asked = True
                self._ask_again(it)

    def _ask_again(self, it: ClientServing) -> None:
        def refused(error: MeshError) -> None:
            self._all.pop(it.number, None)
            self._asked.pop(it.number, None)
            it.end(error)

        pending = self._calls.tell(it.asked_for, lambda: self._opened(it, pending))
        pending.refused = refused
        self._asked[it.number] = pending

    def arrived(
        self, number: int, head: ItemHead, envelope: Envelope, indices: tuple[int, ...] | None
    ) -> None:
        """An item for one of them."""
        it = self._all.get(number)
        if it is not None:
            it.arrived(envelope, indices, head.ttl)

    def ended(self, command: Ended) -> bool:
        """The node has ended one of them; False: it is none of ours."""
        it = self._all.pop(command.subscription, None)
        if it is None:
            return False
        self._asked.pop(it.number, None)
        it.end(LocalError(command.text.removesuffix(f" [{command.code}]"), code=command.code))
        self._calls.tell(lambda request: Unsubscribe(request, command.subscription))
        return True

    def end(self, error: MeshError) -> None:
        """The client is closed; what was settled leaves before."""
        for it in self._all.values():
            it.flush()
            it.end(error)
        self._all.clear()
        self._asked.clear()
