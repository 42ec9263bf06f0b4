"""A client in the simulated mesh: speaks the wire, comes back by itself, and keeps all it was told.

It follows the real client in what it says, so that both can be understood from one another; there are
no sockets in it and no waiting.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from mesh.client.subscription import INBOX
from mesh.core.proof import prove, same
from mesh.errors import RemoteError
from mesh.links.backoff import delay
from mesh.names import SessionName
from mesh.streams.link import LinkReceiver
from mesh.streams.outbox import Outbox
from mesh.streams.seen import Seen
from mesh.wire import commands as c
from mesh.wire.envelope import ERASED, FORCE_QUEUING, INITIAL, PERSISTENT, Envelope
from mesh.wire.frames import body_frames, read, write
from mesh.wire.properties import Properties, encode_properties
from tools.simulating.network import SECRET, Pipe
from tools.simulating.node import SimNetwork, SimNode

PING, SILENCE, HANDSHAKE, REDIAL = 2.0, 6.0, 5.0, 2.0


@dataclass(frozen=True)
class Got:
    """A message as a subscriber was given it."""

    id: tuple[bytes, str, int]  # stream, domain, number
    key: str
    content: bytes
    sender: str
    route: tuple[str, ...]
    is_persistent: bool
    is_initial: bool
    gap: int  # messages that were dropped just before
    is_erased: bool = False
    strata: tuple[int, ...] = ()


@dataclass(eq=False)
class Subscription:
    """`rate` is how many items a second it uses up; None = all at once, 0 = none."""

    number: int
    query: c.Query
    initial: bool
    rate: float | None
    is_confirmed: bool = False
    was_restarted: bool = False
    overflow: str = ""
    max_queue: int = 0
    ended: str = ""  # why it is over
    used: int = 0
    got: list[Got] = field(default_factory=list)
    dropped: int = 0
    seen: Seen = field(default_factory=Seen)
    items: deque[list[Got]] = field(default_factory=deque)

    def command(self, request: int, resumed: bool = False) -> c.Subscribe:
        return c.Subscribe(
            request, self.number, self.query, self.initial, resumed, self.overflow, self.max_queue
        )

    @property
    def contents(self) -> list[bytes]:
        return [message.content for message in self.got]


@dataclass
class Call:
    """A question, and its reply when it has come."""

    command: c.Command
    reply: c.Reply | None = None
    found: list[Envelope] = field(default_factory=list)


class SimClient:
    """Everything it published is in `sent`, everything it was answered in `answers`."""

    outbox_made = Outbox

    def __init__(
        self, net: SimNetwork, address: str, name: str = "joe", session: int = 0, secret: bytes = SECRET
    ) -> None:
        self.net, self.address = net, address
        self.name = self.called(name)
        self.rng = net.chance(name)
        self.stream = self.rng.randbytes(16)
        self.is_up = self.is_closed = False
        self.session_name = ""
        self.refusals: list[c.Refuse] = []
        self.subscriptions: dict[int, Subscription] = {}
        self.calls: dict[int, Call] = {}
        self.outbox = self.outbox_made(4 << 20, 1024)
        self.sent: dict[tuple[str, int], tuple[str, bytes, bool]] = {}
        self.letters: dict[tuple[str, int], str] = {}  # of what it sent, to whom
        self.answers: dict[tuple[str, int], c.Answer] = {}  # the last word so far
        self.sources: Any = []  # of the last get; its code if it failed
        self.warned: set[tuple[str, int]] = set()  # what had another word before
        self._wanting: deque[Envelope] = deque()  # no room in the window yet
        self._hello = (name, session)
        self._secret = secret
        self._token, self._boot, self._have = b"", 0, LinkReceiver()
        self._nonces = (b"", b"")
        self._pipe: Pipe | None = None
        self._key = self._attempt = self._requests = 0
        self._heard = 0.0
        self._is_acking = False
        self._told: dict[int, int] = {}  # items used up of each subscription, as this connection has heard
        self._dial()

    def called(self, name: str) -> str:
        """Its name in the network, which no other end has."""
        return f"client {name} {len(self.net.pipes)}"

    # --- what a test says -----------------------------------------------------------------------------

    def publish(
        self, keys: str, *contents: bytes, persistent: bool = False, domain: str = "", flags: int = 0,
        expires: int = 0,
    ) -> None:  # fmt: skip
        """One envelope with a message for each word of `keys`; `expires` (ns since 1970): of each of them."""
        slices = list(contents) or [b""] * len(keys.split())
        flags |= PERSISTENT if persistent else 0
        e = self._envelope(keys.split(), slices, domain, flags, expires)
        self._wanting.append(e)
        self._publish_wanted()

    def send(
        self, to: str, content: bytes, *, force: bool = False, persistent: bool = False, domain: str = "",
        expires: int = 0,
    ) -> None:  # fmt: skip
        """To one client or session."""
        flags = (FORCE_QUEUING if force else 0) | (PERSISTENT if persistent else 0)
        e = self._envelope(["ptp"], [content], domain, flags, expires)
        self._wanting.append(msgspec.structs.replace(e, to=to, keys=("",)))
        self._publish_wanted()

    def _envelope(
        self, words: list[str], slices: list[bytes], domain: str, flags: int, expires: int = 0
    ) -> Envelope:
        """One message for each word, which is its key; the outbox numbers it."""
        own = encode_properties(Properties(expires=expires))
        slices = [own + content for content in slices]
        table = tuple(dict.fromkeys(words))
        index = array("H", map(table.index, words)).tobytes() if len(table) > 1 else b""
        return Envelope(
            stream=self.stream, domain=domain, first=1, last=len(words), keys=table, count=len(words),
            sizes=array("I", map(len, slices)).tobytes(), body=b"".join(slices), index=index, low=1,
            flags=flags, expires=expires,
            props=array("I", [len(own)] * len(words)).tobytes() if own else 0,
        )  # fmt: skip

    def inbox(self) -> Subscription:
        """What is sent to this session."""
        s = self.subscriptions[0] = Subscription(0, c.Query("inbox", ""), False, None)
        self._told.pop(0, None)
        self.ask(lambda request: c.Subscribe(request, 0, s.query, s.initial))
        self.net.until(lambda: s.is_confirmed)
        return s

    def erase(self, key: str, domain: str = "") -> Any:
        """The keys that were there, or the code of the refusal."""
        call = self.ask(lambda request: c.Call(request, "erase", {"key": key, "domain": domain}))
        self.net.until(lambda: call.reply)
        assert call.reply is not None
        return call.reply.code or call.reply.value["erased"]

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
        kind = "exact" if key else "pattern"
        number = len(self.subscriptions) + 1
        s = Subscription(number, c.Query(kind, key or pattern, domain), initial, rate)
        s.overflow, s.max_queue = overflow, max_queue
        self.subscriptions[number] = s
        self._told.pop(number, None)
        self.ask(lambda request: s.command(request))
        if rate:
            self._use_some(s, rate)
        return s

    def subscribed(self, key: str = "", pattern: str = "", **options: Any) -> Subscription:
        """As `subscribe`, and wait until every node knows of it."""
        s = self.subscribe(key, pattern, **options)
        self.net.until(lambda: s.is_confirmed)
        return s

    def use(self, s: Subscription, rate: float | None = None) -> None:
        """From now on it uses up so many items a second."""
        s.rate = rate
        if rate:
            self._use_some(s, rate)
        while rate is None and s.is_confirmed and s.items:
            self._use(s)

    def unsubscribe(self, s: Subscription) -> None:
        self.subscriptions.pop(s.number)
        self.ask(lambda request: c.Unsubscribe(request, s.number))

    def get(self, key: str = "", pattern: str = "", domain: str = "", fresh: bool = False) -> list[Got]:
        """The values that are found; their sources are in `sources`."""
        arguments = {"kind": "exact" if key else "pattern", "text": key or pattern, "domain": domain}
        call = self.ask(lambda request: c.Call(request, "get", {**arguments, "fresh": fresh}))
        self.net.until(lambda: call.reply)
        assert call.reply is not None
        self.sources = call.reply.value["sources"] if not call.reply.code else call.reply.code
        return [_got(e, i, 0) for e in call.found for i in range(e.count)]

    def call(self, verb: str, **arguments: Any) -> Any:
        call = self.ask(lambda request: c.Call(request, verb, arguments))
        self.net.until(lambda: call.reply)
        assert call.reply is not None
        return call.reply.value

    def ask(self, make: Callable[[int], c.Command]) -> Call:
        self._requests += 1
        call = self.calls[self._requests] = Call(make(self._requests))
        self.say(call.command)
        return call

    def settled(self) -> SimClient:
        """Wait until everything it published is answered."""
        self.net.until(lambda: not self._wanting and not self.outbox.unanswered)
        return self

    @property
    def is_through(self) -> bool:
        """Has everything that it published its last word?"""
        waiting = any(stream.waiting for stream in self.outbox._streams.values())
        return not self._wanting and not waiting

    def connected(self) -> SimClient:
        self.net.until(lambda: self.is_up)
        return self

    def close(self) -> None:
        self.say(c.Bye("done"))
        self.die()

    def move(self, address: str) -> None:
        """Its node is given up: what was not answered goes by another one, with the old numbers."""
        self.address, self._token = address, b""
        self._hello = (self._hello[0], 0)
        if self.is_up:
            self._lose()

    def die(self) -> None:
        """kill -9."""
        self.is_closed, self.is_up = True, False
        if self._pipe is not None:
            self._pipe.end(self)

    def state(self, number: int, domain: str = "") -> str:
        answer = self.answers.get((domain, number))
        return answer.state if answer else ""

    # --- the connection -------------------------------------------------------------------------------

    def say(self, command: c.Command, *envelopes: Envelope) -> None:
        if self.is_up:
            self._put(write(command, envelopes))

    def _put(self, frames: list[bytes]) -> None:
        if self._pipe is not None and self._pipe.is_open:
            self._pipe.send(0, frames)

    def _dial(self) -> None:
        if self.is_closed:
            return
        self._key += 1
        self._heard = self.net.now
        self._nonces = (self.rng.randbytes(16), b"")
        self._pipe = self.net.connect(self, self._key, self.address)
        self._put(write(self._greeting()))
        self._watch(self._key)

    def _greeting(self, proof: bytes = b"") -> c.Hello:
        client, session = self._hello
        return c.Hello(
            (1, 1), c.CLIENT, "", self._nonces[0], proof, client=client, session=session, stream=self.stream,
            token=self._token, boot_seen=self._boot, have=self._have.have,
        )  # fmt: skip

    def _watch(self, key: int) -> None:
        self.net.after(PING if self.is_up else HANDSHAKE, lambda: self._time(key))

    def _time(self, key: int) -> None:
        if key != self._key or self.is_closed:
            return
        if self.net.now - self._heard > (SILENCE if self.is_up else HANDSHAKE - 0.1):
            self._lose()
            return
        self.say(c.Ping(1))
        self._watch(key)

    def gone(self, key: Hashable) -> None:
        if key == self._key:
            self._lose()

    def _lose(self) -> None:
        if self.is_up:
            self._attempt = 0
        self.is_up = False
        self._key += 1  # nothing of the old one is listened to
        if self._pipe is not None:
            self._pipe.end(self)
        self._attempt += 1
        wait = delay(self._attempt, self.rng.random(), low=0.05, high=REDIAL)
        self.net.after(wait, self._dial)

    def hear(self, key: Hashable, frames: list[bytes]) -> None:
        if key != self._key or self.is_closed:
            return
        self._heard = self.net.now
        command, envelopes = read(frames)
        try:
            match command:
                case c.Welcome() if not self.is_up:
                    self._enter(command)
                case c.Challenge() if not self.is_up:
                    self._nonces = (self._nonces[0], command.nonce)
                    proof = prove(self._secret, "dialler", *self._nonces, self.address)
                    self._put(write(self._greeting(proof)))
                case c.Refuse():
                    self.refusals.append(command)
                    self._lose()
                case c.Who() | c.Bye():
                    self._lose()
                case _ if self.is_up:
                    self._take(command, envelopes)
        except RemoteError:
            self._lose()

    def _enter(self, w: c.Welcome) -> None:
        if self._nonces[1]:
            assert same(w.proof, prove(self._secret, "listener", *self._nonces, self.address))
        is_new = w.node.boot != self._boot or w.next <= self._have.have
        if is_new:
            self._have = LinkReceiver()
        self.session_name, self._token, self._boot = w.session, w.token, w.node.boot
        self._hello = (self._hello[0], SessionName.parse(w.session).session or 0)
        self.is_up, self._attempt = True, 0
        self._told.clear()
        self.outbox.window = w.window
        for s in self.subscriptions.values():
            if is_new and not s.is_confirmed:
                s.items.clear()
                s.seen = Seen()
            if is_new:
                s.was_restarted = s.is_confirmed
                s.used = -len(s.items)
            if s.is_confirmed:
                self.say(s.command(0, resumed=not is_new))
        for call in self.calls.values():
            call.found.clear()
            self.say(call.command)
        for e in self.outbox.resend():
            self.say(c.Publish((body_frames(e),)), e)
        self._publish_wanted()
        self._plan_ack()

    # --- what it hears ----------------------------------------------------------------------------------

    def _take(self, command: c.AnyCommand, envelopes: list[Envelope]) -> None:
        match command:
            case c.Items():
                self._items(command, envelopes)
            case c.Answers():
                for answer in command.answers:
                    self._answered(answer)
                self._publish_wanted()
            case c.Reply():
                self._replied(command, envelopes)
            case c.Ended():
                self.subscriptions.pop(command.subscription).ended = command.code
                self.ask(lambda request: c.Unsubscribe(request, command.subscription))
            case c.Pong():
                pass
            case _:
                raise AssertionError(f"a node sent {command} to a client")

    def _publish_wanted(self) -> None:
        while self._wanting and self.outbox.open:
            e = self.outbox.add(self._wanting.popleft())
            for i, content in enumerate(e.contents()):
                self.sent[e.domain, e.number(i)] = (e.keys[e.row(i)], content, e.persistent)
                if e.to:
                    self.letters[e.domain, e.number(i)] = e.to
            self.say(c.Publish((body_frames(e),)), e)

    def _answered(self, answer: c.Answer) -> None:
        is_final = answer.state != "FORWARD_WARNING"
        fresh = self.outbox.answered(answer.domain, answer.first, answer.last, final=is_final)
        for first, last in fresh:
            for number in range(first, last + 1):
                known = self.answers.get((answer.domain, number))
                assert known is None or known.state == "FORWARD_WARNING", "answered twice"
                if known is not None:
                    self.warned.add((answer.domain, number))
                self.answers[answer.domain, number] = answer

    def _replied(self, reply: c.Reply, envelopes: list[Envelope]) -> None:
        call = self.calls.get(reply.request)
        if call is None:
            return
        call.found += envelopes
        if not (isinstance(reply.value, dict) and reply.value.get("more")):
            call.reply = reply
            del self.calls[reply.request]
            if isinstance(call.command, c.Subscribe) and not reply.code:
                s = self.subscriptions[call.command.subscription]
                s.is_confirmed = True
                while s.rate is None and s.items:
                    self._use(s)

    def _items(self, command: c.Items, envelopes: list[Envelope]) -> None:
        self._plan_ack()
        if not self._have.accept(command.seq):
            return
        for head, e in zip(command.heads, envelopes, strict=True):
            gaps = dict(head.gaps)
            for number, column in head.targets:
                s = self.subscriptions.get(number)
                if s is not None:
                    indices = memoryview(column).cast("H") if column else range(e.count)
                    self._check_place(head, e, list(indices))
                    self._arrived(s, head, e, list(indices), gaps.get(number, 0))

    def _check_place(self, head: c.ItemHead, e: Envelope, indices: list[int]) -> None:
        """A persistent message has one place in one log, for all and for ever."""
        if head.position and e.persistent:
            for i in indices:
                place = (head.master, head.position)
                known = self.net.places.setdefault((e.stream, e.domain, e.number(i), e.to), place)
                assert known == place, f"message {e.number(i)} was taken twice: at {known} and {place}"

    def _arrived(self, s: Subscription, head: c.ItemHead, e: Envelope, indices: list[int], gap: int) -> None:
        new, is_late = self._news(s, head.master, e, indices)
        if (s.seen.has_passed(head.master, head.position, e.persistent) and s.number != INBOX) or is_late:
            gap, new = gap + len(new), []
        if gap:
            self._missed(s, gap)
        s.items.append([_got(e, i, gap if i == new[0] else 0) for i in new])
        if s.rate is None and s.is_confirmed:
            self._use(s)

    def _missed(self, s: Subscription, gap: int) -> None:
        s.dropped += gap

    def _news(
        self, s: Subscription, master: bytes, e: Envelope, indices: list[int]
    ) -> tuple[list[int], bool]:
        """(what it has not had, whether that comes too late)"""
        stream = (e.stream, e.domain)
        is_behind = e.first <= s.seen.high(master, stream) and s.number != INBOX and not e.flags & ERASED
        if is_behind and e.flags & INITIAL and s.was_restarted:
            return [], False
        fresh = s.seen.fresh(master, stream, e.first, e.last)
        new = [i for i in indices if any(a <= e.number(i) <= b for a, b in fresh)]
        return new, is_behind and not (e.persistent or e.flags & INITIAL)

    def _use(self, s: Subscription) -> None:
        s.got += s.items.popleft()
        s.used += 1
        self._plan_ack()

    def _use_some(self, s: Subscription, rate: float) -> None:
        if s.items and s.is_confirmed:
            self._use(s)
        if not self.is_closed:
            self.net.after(1 / rate, lambda: self._use_some(s, rate))

    def _plan_ack(self) -> None:
        if not self._is_acking:
            self._is_acking = True
            self.net.after(0.0001, self._ack)

    def _ack(self) -> None:
        self._is_acking = False
        news = {s.number: s.used for s in self.subscriptions.values() if s.used > self._told.get(s.number, 0)}
        self.say(c.Ack(self._have.have, tuple(news.items())))
        self._told |= news


def _got(e: Envelope, i: int, gap: int) -> Got:
    return Got(
        (e.stream, e.domain, e.number(i)), e.keys[e.row(i)], e.message(i)[1], e.sender,
        tuple(hop.node for hop in e.route), e.persistent, bool(e.flags & INITIAL), gap,
        bool(e.flags & ERASED), tuple(hop.stratum for hop in e.route),
    )  # fmt: skip


def client_of(node: SimNode, name: str = "joe", **options: Any) -> SimClient:
    """A client of this node, by its local socket, that is connected."""
    return SimClient(node.net, options.pop("address", node.ipc), name, **options).connected()
