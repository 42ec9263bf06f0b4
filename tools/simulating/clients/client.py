"""A client in the simulated mesh: speaks the wire, comes back by itself, and keeps all it was told.

It follows the real client in what it says, so that both can be understood from one another; there are
no sockets in it and no waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import msgspec

from mesh.errors import RemoteError
from mesh.streams.outbox import Outbox
from mesh.wire import commands as c
from mesh.wire.envelope import FORCE_QUEUING, PERSISTENT, Envelope
from mesh.wire.frames import read
from tools.simulating.clients import publisher
from tools.simulating.clients.asking import Asking
from tools.simulating.clients.kept import Call, Got, Subscription, got
from tools.simulating.clients.line import Line
from tools.simulating.clients.publisher import Publisher
from tools.simulating.clients.reader import Reader
from tools.simulating.world.network import SECRET, Network
from tools.simulating.world.node import SimNode


class SimClient:
    """Everything it published is in `sent`, everything it was answered in `answers`."""

    is_named = True  # somebody chose its name

    def __init__(
        self, net: Network[Any], address: str, name: str = "joe", session: int = 0, secret: bytes = SECRET
    ) -> None:
        self.net = net
        self.name = self.called(name)
        self.line = Line(net, self, address, name, session, secret, self.is_named)
        self.publisher = Publisher(self.line, self.outbox_made())
        self.reader = self.reader_made()
        self.asking = Asking(self.line)
        self.key, self.stream = self.line.key, self.line.key.id
        self.sent, self.letters = self.publisher.sent, self.publisher.letters
        self.answers, self.warned = self.publisher.answers, self.publisher.warned
        self.subscriptions, self.calls = self.reader.subscriptions, self.asking.calls
        self.refusals: list[c.Refuse] = []
        self.sources: Any = []  # of the last get; its code if it failed
        self.line.dial()

    def called(self, name: str) -> str:
        """Its name in the network, which no other end has."""
        return f"client {name} {len(self.net.pipes)}"

    def outbox_made(self) -> Outbox:
        return Outbox(4 << 20, 1024)

    def reader_made(self) -> Reader:
        return Reader(self.line)

    @property
    def is_up(self) -> bool:
        return self.line.is_up

    @property
    def is_closed(self) -> bool:
        return self.line.is_closed

    @property
    def session_name(self) -> str:
        return self.line.session_name

    # --- publishing ---------------------------------------------------------------------------------------

    def publish(
        self,
        keys: str,
        *contents: bytes,
        persistent: bool = False,
        domain: str = "",
        flags: int = 0,
        expires: int = 0,
    ) -> None:
        """One envelope with a message for each word of `keys`; `expires` (ns since 1970): of each of them."""
        slices = list(contents) or [b""] * len(keys.split())
        flags |= PERSISTENT if persistent else 0
        self.publisher.post(self.envelope(keys.split(), slices, domain, flags, expires))

    def send(
        self,
        to: str,
        content: bytes,
        *,
        force: bool = False,
        persistent: bool = False,
        domain: str = "",
        expires: int = 0,
    ) -> None:
        """To one client or session."""
        flags = (FORCE_QUEUING if force else 0) | (PERSISTENT if persistent else 0)
        e = self.envelope(["ptp"], [content], domain, flags, expires)
        self.publisher.post(msgspec.structs.replace(e, to=to, keys=("",)))

    def envelope(
        self, words: list[str], slices: list[bytes], domain: str, flags: int, expires: int = 0
    ) -> Envelope:
        """One message for each word, which is its key."""
        return publisher.envelope(self.stream, words, slices, domain, flags, expires)

    def settled(self) -> SimClient:
        """Wait until everything it published is answered."""
        self.net.until(lambda: self.publisher.is_answered)
        return self

    @property
    def is_through(self) -> bool:
        """Has everything that it published its last word?"""
        return self.publisher.is_through

    def state(self, number: int, domain: str = "") -> str:
        return self.publisher.state(number, domain)

    # --- reading ------------------------------------------------------------------------------------------

    def inbox(self) -> Subscription:
        """What is sent to this session."""
        s = Subscription(0, c.Query("inbox", ""), False, None)
        self.reader.add(s)
        self.ask(lambda request: c.Subscribe(request, 0, s.query, s.initial))
        self.net.until(lambda: s.is_confirmed)
        return s

    def subscribe(
        self,
        key: str = "",
        pattern: str = "",
        *,
        domain: str = "",
        initial: bool = True,
        rate: float | None = None,
        overflow: str = "",
        max_queue: int = 0,
    ) -> Subscription:
        query = c.Query("exact" if key else "pattern", key or pattern, domain)
        s = Subscription(len(self.subscriptions) + 1, query, initial, rate)
        s.overflow, s.max_queue = overflow, max_queue
        self.reader.add(s)
        self.ask(lambda request: s.command(request))
        if rate:
            self.reader.use_some(s, rate)
        return s

    def subscribed(self, key: str = "", pattern: str = "", **options: Any) -> Subscription:
        """As `subscribe`, and wait until every node knows of it."""
        s = self.subscribe(key, pattern, **options)
        self.net.until(lambda: s.is_confirmed)
        return s

    def use(self, s: Subscription, rate: float | None = None) -> None:
        """From now on it uses up so many items a second."""
        self.reader.use(s, rate)

    def unsubscribe(self, s: Subscription) -> None:
        self.subscriptions.pop(s.number)
        self.ask(lambda request: c.Unsubscribe(request, s.number))

    # --- asking -------------------------------------------------------------------------------------------

    def get(self, key: str = "", pattern: str = "", domain: str = "", fresh: bool = False) -> list[Got]:
        """The values that are found; their sources are in `sources`."""
        arguments = {"kind": "exact" if key else "pattern", "text": key or pattern, "domain": domain}
        call, reply = self._called("get", {**arguments, "fresh": fresh})
        self.sources = reply.code or reply.value["sources"]
        return [got(e, i, 0) for e in call.found for i in range(e.count)]

    def erase(self, key: str, domain: str = "") -> Any:
        """The keys that were there, or the code of the refusal."""
        _, reply = self._called("erase", {"key": key, "domain": domain})
        return reply.code or reply.value["erased"]

    def call(self, verb: str, **arguments: Any) -> Any:
        return self._called(verb, arguments)[1].value

    def _called(self, verb: str, arguments: dict[str, Any]) -> tuple[Call, c.Reply]:
        call = self.ask(lambda request: c.Call(request, verb, arguments))
        self.net.until(lambda: call.reply)
        assert call.reply is not None
        return call, call.reply

    def ask(self, make: Callable[[int], c.Command]) -> Call:
        return self.asking.ask(make)

    # --- its connection -----------------------------------------------------------------------------------

    def say(self, command: c.Command, *envelopes: Envelope) -> None:
        self.line.say(command, *envelopes)

    def connected(self) -> SimClient:
        self.net.until(lambda: self.is_up)
        return self

    def close(self) -> None:
        self.say(c.Bye("done"))
        self.die()

    def move(self, address: str) -> None:
        """Its node is given up: what was not answered goes by another one, with the old numbers."""
        self.line.move(address)

    def die(self) -> None:
        """kill -9."""
        self.line.close()

    def gone(self, key: Hashable) -> None:
        self.line.gone(key)

    def hear(self, key: Hashable, frames: list[bytes]) -> None:
        if not self.line.hears(key):
            return
        command, envelopes = read(frames)
        try:
            if self.is_up:
                self._told(command, envelopes)
            else:
                self._greeted(command)
        except RemoteError:
            self.line.lose()

    def _greeted(self, command: c.AnyCommand) -> None:
        """While it comes in."""
        match command:
            case c.Welcome():
                self.enter(command)
            case c.Challenge():
                self.line.challenged(command)
            case c.Refuse():
                self.refusals.append(command)
                self.line.lose()
            case c.Who() | c.Bye():
                self.line.lose()

    def enter(self, w: c.Welcome) -> None:
        is_new = self.line.entered(w)
        self.publisher.outbox.window = w.window
        self.reader.entered(is_new)
        self.asking.again()
        self.publisher.resend()
        self.reader.plan_ack()

    def _told(self, command: c.AnyCommand, envelopes: list[Envelope]) -> None:
        match command:
            case c.Items():
                self.reader.items(command, envelopes)
            case c.Answers():
                for answer in command.answers:
                    self.answered(answer)
                self.publisher.post_wanted()
            case c.Reply():
                self.replied(command, envelopes)
            case c.Ended():
                self.subscriptions.pop(command.subscription).ended = command.code
                self.ask(lambda request: c.Unsubscribe(request, command.subscription))
            case c.Ping():
                self.say(c.Pong(command.stamp))
            case c.Pong():
                pass
            case c.Refuse() | c.Who() | c.Bye():
                self._greeted(command)
            case _:
                raise AssertionError(f"a node sent {command} to a client")

    def answered(self, answer: c.Answer) -> None:
        self.publisher.answered(answer)

    def replied(self, reply: c.Reply, envelopes: list[Envelope]) -> None:
        call = self.asking.replied(reply, envelopes)
        if call is not None and isinstance(call.command, c.Subscribe) and not reply.code:
            self.reader.confirmed(call.command.subscription)


def client_of(node: SimNode, name: str = "joe", **options: Any) -> SimClient:
    """A client of this node, by its local socket, that is connected."""
    return SimClient(node.net, options.pop("address", node.ipc), name, **options).connected()
