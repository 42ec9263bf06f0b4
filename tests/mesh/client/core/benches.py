"""The smallest shell there can be: a core with neither sockets nor loop, in a time that the test moves."""

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
    """A result that is there or not; whoever asks for it before fails."""

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
        """What it was kept with; raises what broke it."""
        assert self._done is not None, "nothing has come of it yet"
        return self._done()

    def __await__(self) -> Generator[Any, None, Any]:
        return self.result()
        yield


def result(promise: Any) -> Any:
    """Of a promise that this shell has made."""
    assert isinstance(promise, Promised)
    return promise.result()


def quiet_desk(wake: Callable[[], None] = lambda: None) -> ClientContext:
    """One whose chance is always a half."""
    return ClientContext(Promised, lambda: 0.5, bytes, wake)


class DeskBench:
    """A component with its context, and all that it ordered, in order."""

    def __init__(self) -> None:
        self.context = quiet_desk()
        self.done: list[ClientEffect] = []

    def wait(self, seconds: float = 0.0) -> list[ClientEffect]:
        """So much time, with a tick whenever one is due; what came of it."""
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
        """All commands that have left."""
        return [effect.command for effect in self.done if isinstance(effect, SendCommand)]

    def told(self) -> list[tuple[str, str]]:
        return [(effect.kind, effect.text) for effect in self.done if isinstance(effect, Report)]


class LineBench(DeskBench):
    """A line, and what its owner hears of it."""

    def __init__(self, named: bool = False) -> None:
        super().__init__()
        self.welcomed: list[tuple[c.Welcome, bool]] = []
        self.objections: list[c.Refuse] = []
        self.line = NodeConnection(
            self.context,
            ("joe", 0, named),
            KEY,
            lambda welcome, is_new: self.welcomed.append((welcome, is_new)),
            self.objections.append,
        )

    def dialled(self, access: Access = ACCESS) -> Any:
        """Open, and found; returns the promise that it is up."""
        promise = self.line.open(waits=False)
        self.find(access)
        return promise

    def find(self, access: Access = ACCESS) -> None:
        assert self.wait()[-1] == Find()
        self.context.begin(self.context.now)
        self.line.found(access)
        self.wait()

    def hear(self, command: c.Command) -> None:
        """From its node, on the connection in use."""
        self.context.begin(self.context.now)
        assert self.line.hears(self.line.key)
        self.line.heed(command)
        self.wait()

    def hear_pong(self) -> None:
        """A sign of life, which its owner would pass by."""
        assert self.line.hears(self.line.key)

    def keep_up(self, seconds: float) -> None:
        """Its node lives, and so much time passes."""
        end = self.context.now + seconds
        while self.context.now < end:
            self.wait(1.0)
            self.hear_pong()

    def up(self, welcome: c.Welcome = WELCOME) -> None:
        self.dialled()
        self.hear(welcome)


class CoreBench(DeskBench):
    """A whole core that is in, as its shell would have it; the node is the test."""

    def __init__(self, timeout: float = 10.0) -> None:
        super().__init__()
        self.core = ClientCore(self.context, ("joe", 0, False), KEY, timeout)
        self.core.line.open(waits=False)
        self.connect()
        self.done.clear()

    def connect(self, welcome: c.Welcome = WELCOME, access: Access = ACCESS) -> None:
        """It looks for its node, finds it, and is let in."""
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
        """The connection breaks, and comes back; another boot is another process."""
        self.core.on_disconnected(self.context.now, self.core.line.key)
        self.wait()
        self.done.clear()
        self.connect(replace(WELCOME, node=replace(WELCOME.node, boot=boot), next=1 << 20))
