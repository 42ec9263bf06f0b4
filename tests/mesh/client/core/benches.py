"""The smallest shell for the client's components: no sockets, no event loop, and time that the test moves."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from msgspec.structs import replace

from mesh.client.access import Access
from mesh.client.core.client import ClientCore
from mesh.client.core.client_context import ClientContext
from mesh.client.core.effects import ClientEffect, Find, Report, SendCommand
from mesh.client.core.node_connection import NodeConnection
from mesh.security.streamkey import StreamKey
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from tools.costing.wire import WELCOME

ACCESS = Access("ipc:///run/heron")
KEY = StreamKey(bytes(32))


class Promised:
    """A result that may not be there yet. Reading it too early fails."""

    def __init__(self) -> None:
        self._done: Callable[[], Any] | None = None

    def done(self) -> bool:
        return self._done is not None

    def set_result(self, result: Any, /) -> None:
        assert not self.done()
        self._done = lambda: result

    def set_exception(self, error: BaseException, /) -> None:
        assert not self.done()

        def broken() -> None:
            raise error

        self._done = broken

    def result(self) -> Any:
        """Return the result, or raise the exception that was set instead."""
        assert self._done is not None, "nothing has come of it yet"
        return self._done()

    def __await__(self) -> Generator[Any, None, Any]:
        return self.result()
        yield


def result(promise: Any) -> Any:
    """Return the result of a promise of this shell."""
    assert isinstance(promise, Promised)
    return promise.result()


def quiet_desk(wake: Callable[[], None] = lambda: None) -> ClientContext:
    """Return a client context whose random numbers are always 0.5."""
    return ClientContext(Promised, lambda: 0.5, bytes, wake)


class DeskBench:
    """A client context, and all effects of its component, in order."""

    def __init__(self) -> None:
        self.context = quiet_desk()
        self.done: list[ClientEffect] = []

    def wait(self, seconds: float = 0.0) -> list[ClientEffect]:
        """Let `seconds` pass, with a tick whenever one is due, and return the new effects."""
        before, end = len(self.done), self.context.now + seconds
        self._tick(self.context.now)
        while self.context.due <= end:
            self._tick(self.context.due)
        self._tick(end)
        return self.done[before:]

    def _tick(self, now: float) -> None:
        while effects := self.context.tick(max(now, self.context.now)):
            self.done += effects

    def sent(self) -> list[c.Command]:
        """Return all commands that were sent."""
        return [effect.command for effect in self.done if isinstance(effect, SendCommand)]

    def told(self) -> list[tuple[str, str]]:
        return [(effect.kind, effect.text) for effect in self.done if isinstance(effect, Report)]


class LineBench(DeskBench):
    """A node connection, and what it reports to its owner."""

    def __init__(self, named: bool = False, *names: str) -> None:
        super().__init__()
        self.welcomed: list[tuple[c.Welcome, bool]] = []
        self.objections: list[c.Refuse] = []
        self.line = NodeConnection(
            self.context,
            ("joe", 0, named),
            KEY,
            lambda welcome, is_new: self.welcomed.append((welcome, is_new)),
            self.objections.append,
            names=names,
        )

    def dialled(self, access: Access = ACCESS) -> Any:
        """Open the connection, let it find its node, and return the promise that it is up."""
        promise = self.line.connect(waits=False)
        self.find(access)
        return promise

    def find(self, access: Access = ACCESS) -> None:
        assert self.wait()[-1] == Find()
        self.context.set_time(self.context.now)
        self.line.found(access)
        self.wait()

    def hear(self, command: c.Command) -> None:
        """Receive a command from the node on the current connection."""
        self.context.set_time(self.context.now)
        assert self.line.hears(self.line.key)
        self.line.heed(command)
        self.wait()

    def hear_pong(self) -> None:
        """Receive a sign of life, which the owner ignores."""
        assert self.line.hears(self.line.key)

    def keep_up(self, seconds: float) -> None:
        """Let `seconds` pass, with a sign of life each second."""
        end = self.context.now + seconds
        while self.context.now < end:
            self.wait(1.0)
            self.hear_pong()

    def up(self, welcome: c.Welcome = WELCOME) -> None:
        self.dialled()
        self.hear(welcome)


class CoreBench(DeskBench):
    """A connected client core and its shell. The test plays the node."""

    def __init__(self, timeout: float = 10.0) -> None:
        super().__init__()
        self.core = ClientCore(self.context, ("joe", 0, False), KEY, timeout)
        self.core.line.connect(waits=False)
        self.connect()
        self.done.clear()

    def connect(self, welcome: c.Welcome = WELCOME, access: Access = ACCESS) -> None:
        """Wait until the core looks for its node, then find the node and send `welcome`."""
        self.wait()
        while Find() not in self.done:
            self.wait(self.context.due - self.context.now)
        self.core.found(self.context.now, access)
        self.wait()
        self.hear(welcome)

    def hear(self, command: c.Command, *envelopes: Envelope) -> None:
        self.core.received(self.context.now, self.core.line.key, command, list(envelopes))
        self.wait()

    def again(self, boot: int = 1) -> None:
        """Break the connection and reconnect. Another boot is another process of the node."""
        self.core.on_disconnected(self.context.now, self.core.line.key)
        self.wait()
        self.done.clear()
        self.connect(replace(WELCOME, node=replace(WELCOME.node, boot=boot), next=1 << 20))
