"""Runs the client core on a simulated network, and posts waiting messages when the window has space."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Self

from mesh.client.access import Access
from mesh.client.core.calls import Pending
from mesh.client.core.client import ClientCore
from mesh.client.core.client_context import ClientContext
from mesh.client.core.effects import ClientEffect, CloseConnection, DialNode, Find, Report, SendCommand
from mesh.client.core.fail_back import Wanted
from mesh.client.core.framing import Framing
from mesh.errors import MeshError, RemoteError, WouldBlock
from mesh.security.streamkey import STREAM_SEED, StreamKey
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from tools.simulator.clients.diary import Diary
from tools.simulator.clients.kept import Call
from tools.simulator.clients.outcome import Outcome
from tools.simulator.world.network import SECRET, Network, Pipe

FOREVER = float("inf")  # s until a call times out
MOVE = 5.0  # s in which a client that moves reaches one node only
Posts = deque[Callable[[], None]]


class Driver:
    """A client core and its connection. A subclass says what the client does, and hears of it.

    A client that knows `others`, addresses of further nodes, goes to one of them when its node is lost.
    """

    is_named = True  # its name was chosen

    def __init__(
        self,
        net: Network[Any],
        address: str,
        name: str = "joe",
        session: int = 0,
        secret: bytes = SECRET,
        others: Sequence[str] = (),
    ) -> None:
        self.net, self.address, self._secret = net, address, secret
        self.name = self.called(name)
        rng = net.chance(name)
        self.key = StreamKey(2 * rng.randbytes(STREAM_SEED // 2))
        self.stream = self.key.id
        self.outbox = Diary(4 << 20, 1024, self.wrote)
        context = ClientContext(Outcome, rng.random, rng.randbytes, self._wake)
        wanted = Wanted((address, *others) if others else ())
        self.core = ClientCore(
            context, (name, session, self.is_named), self.key, FOREVER, self.outbox, wanted
        )
        self._target, self._reached_by = "", 0.0  # of a move
        self.pipe: Pipe | None = None
        self._connection = 0
        self._framing = Framing(self._put)
        self._armed = FOREVER
        self._waiting: list[Posts] = []
        self.calls: dict[int, Call] = {}
        self.core.line.connect(waits=True)
        self._turn()

    def called(self, name: str) -> str:
        return f"client {name} {len(self.net.pipes)}"

    @property
    def is_up(self) -> bool:
        return self.core.line.is_up

    @property
    def is_closed(self) -> bool:
        return self.core.line.is_closed

    @property
    def session_name(self) -> str:
        return self.core.line.name

    # --- what subclasses hear -----------------------------------------------------------------------------

    def wrote(self, e: Envelope) -> None:
        """Record an envelope that leaves for the first time."""

    def told(self, command: c.Command, envelopes: list[Envelope]) -> None:
        """Handle a command before the client core receives it."""

    def concluded(self, call: Call, reply: c.Reply) -> None:
        """Handle the reply to a call."""

    def happened(self, kind: str, text: str) -> None:
        """Handle an event, as users receive it."""

    def _look(self) -> None:
        """Look for what the core has for the user."""

    # --- acting ---------------------------------------------------------------------------------------------

    @contextmanager
    def acting(self) -> Iterator[None]:
        """Call the core inside; then it runs."""
        self.core.context.now = self.net.now
        yield
        self._turn()

    def new_posts(self) -> Posts:
        """Return a queue of calls that publish; each is tried again while it raises WouldBlock."""
        posts: Posts = deque()
        self._waiting.append(posts)
        return posts

    def post_waiting(self) -> None:
        """Post waiting messages, as far as the window has space."""
        with self.acting():
            self._post_waiting()

    def _post_waiting(self) -> None:
        for posts in self._waiting:
            while posts:
                try:
                    posts[0]()
                except WouldBlock:
                    break
                posts.popleft()

    @property
    def is_through(self) -> bool:
        """Whether all published messages have a final answer."""
        return (
            not any(self._waiting)
            and self.core.publisher.accumulator.builder is None
            and self.outbox.is_through
        )

    @property
    def is_stuck(self) -> bool:
        """Whether messages wait to leave although none are in flight."""
        return any(self._waiting) and self.outbox.is_through

    def ask(self, make: Callable[[int], c.Command]) -> Call:
        """Send a command that has a reply."""
        with self.acting():
            return self._keep(self.core.calls.send_with_timeout(make))

    def _keep_if_any(self, pending: Pending | None) -> None:
        if pending is not None:
            self._keep(pending)

    def _keep(self, pending: Pending) -> Call:
        call = self.calls[pending.request] = Call(pending.request, pending.command)
        assert isinstance(pending.promise, Outcome)
        pending.promise.then(partial(self._replied, call))
        return call

    def _replied(self, call: Call, parts: Any, error: Any) -> None:
        if self.core.is_over and isinstance(error, MeshError) and error.code == "CLOSED":
            return
        del self.calls[call.request]
        if error is not None:
            call.reply = c.Reply(call.request, code=error.code, text=error.what)
        else:
            call.found = [e for _, envelopes in parts for e in envelopes]
            call.reply = c.Reply(call.request, parts[-1][0])
        self.concluded(call, call.reply)

    # --- its connection -----------------------------------------------------------------------------------

    def say(self, command: c.Command, *envelopes: Envelope) -> None:
        """Send a command that the client core itself would not send."""
        self.core.line.send_command(command, envelopes)
        self._turn()

    def connected(self) -> Self:
        self.net.until(lambda: self.is_up)
        return self

    def close(self) -> None:
        with self.acting():
            self.core.close()

    def move(self, address: str) -> None:
        """Lose the connection, and reach only the node at `address` for MOVE s or until the client is there.

        The client must know that address, or another one of the node.
        """
        self._target, self._reached_by = address, self.net.now + MOVE
        self.lose()

    def lose(self) -> None:
        """Treat the connection as lost."""
        self.on_closed(self._connection)

    def die(self) -> None:
        """End without a goodbye, as `kill -9` does."""
        if not self.is_closed:
            self.core.close()
            self.core.tick(self.net.now)
            self._end_pipe()

    def _end_pipe(self) -> None:
        if self.pipe is not None:
            self.pipe.end(self)

    def on_closed(self, key: Hashable) -> None:
        if isinstance(key, int) and not self.is_closed:
            self.core.on_disconnected(self.net.now, key)
            self._turn()

    def hear(self, key: Hashable, frames: list[bytes]) -> None:
        if key != self._connection or self.is_closed:
            return
        now = self.net.now
        try:
            message = self._framing.read_command(now, frames)
        except RemoteError as error:
            self.core.on_disconnected(now, self._connection, str(error))
        else:
            if message is None:
                self.core.on_piece(now, self._connection)
            else:
                self.told(*message)
                self.core.received(now, self._connection, *message)
                self._target = "" if self.is_up else self._target
        self._post_waiting()
        self._turn()

    # --- for its core -------------------------------------------------------------------------------------

    def _wake(self) -> None:
        self.net.after(0.0, self._turn)

    def _turn(self) -> None:
        """Run the core until nothing is left to do, and schedule the next run."""
        now = self.net.now
        self._look()
        while effects := self.core.tick(now):
            for effect in effects:
                self._do(effect)
            self._look()
        due = self.core.due
        if due < self._armed:
            self._armed = due
            self.net.at(due, partial(self._rung, due))

    def _rung(self, due: float) -> None:
        """Run, unless an earlier run has replaced this one and scheduled the next."""
        if due == self._armed:
            self._armed = FOREVER
            self._turn()

    def _do(self, effect: ClientEffect) -> None:
        match effect:
            case SendCommand(key, command, envelopes):
                if key == self._connection:
                    self._framing.send_command(command, envelopes)
            case Find(text):
                self.core.found(self.net.now, Access(text or self.address, secret=self._secret))
            case DialNode(key, access):
                self._connection, self._framing = key, Framing(self._put)
                self.pipe = self._dial(key, access.address)
            case CloseConnection():
                self._connection = 0
                self._end_pipe()
            case Report(kind, text):
                self.happened(kind, text)

    def _dial(self, key: int, address: str) -> Pipe | None:
        if self._target and self._target != address and self.net.now < self._reached_by:
            self.net.after(0.001, lambda: self.on_closed(key))
            return None
        return self.net.connect(self, key, address)

    def _put(self, frames: list[bytes]) -> None:
        if self.pipe is not None and self.pipe.is_open:
            self.pipe.send(0, frames)
