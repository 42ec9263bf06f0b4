"""A client that records what it sends and receives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mesh.client.batch import Batch
from mesh.client.core.intake import INBOX
from mesh.names import OTHERS
from mesh.routing.feed_state import PROGRESS
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from tools.simulator.checks.values import CACHED, FRESH
from tools.simulator.clients.client import SimClient
from tools.simulator.clients.diary import sum_of
from tools.simulator.clients.kept import Call, Got, Subscription
from tools.simulator.history import Event, History
from tools.simulator.world.network import Pipe
from tools.simulator.world.weather import HarshNetwork

What = dict[str, Any]
ANSWER = b"re "  # prefix of an answer, before the message
GOES_ON = 1 / PROGRESS  # items/s of a reader that publishers wait for


def id_of(e: Envelope, i: int) -> What:
    """Return the id of the message at index `i`, as an event has it."""
    return {"stream": e.stream.hex(), "domain": e.domain, "first": e.number(i)}


class Witness(SimClient):
    """A client that records its events, with the boot of its node."""

    net: HarshNetwork
    gathers = True

    def __init__(
        self,
        net: HarshNetwork,
        address: str,
        name: str,
        history: History,
        session: int = 0,
        unique: str = "",
        others: Sequence[str] = (),
    ) -> None:
        self.history, self._unique = history, unique or name
        self.names: dict[str, Subscription] = {}  # by their names in the script
        self._most = 0  # most bytes that waited unconsumed
        self._largest = 0  # bytes of credit of its largest envelope
        self._reading: dict[int, tuple[int, str]] = {}  # request -> (round of reading, fresh or cached)
        self.roams, self._is_moving = bool(others), False
        super().__init__(net, address, name, session, others=others)

    def called(self, name: str) -> str:
        return f"client {self._unique}"

    def event(self, kind: str, **what: Any) -> None:
        self.history.add(replace(Event(self.net.now, kind, self.name, self.core.line.handshake.boot), **what))

    # --- asking -------------------------------------------------------------------------------------------

    def listen(self, name: str, pattern: str, domain: str, initial: bool, rate: float | None) -> None:
        exact = not any(letter in pattern for letter in "+#")
        words = (pattern, "") if exact else ("", pattern)
        self.names[name] = self.subscribe(*words, domain=domain, initial=initial, rate=rate)

    def reads(self, s: Subscription) -> None:
        query, rate = s.intake.query, s.rate
        if s.number == INBOX:
            self.event("sub", flags="inbox", to=self.session_name)
            return
        flags = ("i" if s.intake.initial else "") + ("g" if rate is None or rate >= GOES_ON else "")
        self.event("sub", sub=s.number, keys=(query.text,), domain=query.domain, flags=flags)

    def open_inbox(self) -> None:
        """Receive messages sent to this session."""
        if INBOX not in self.subscriptions:
            self.read_inbox()

    def ask_get(self, key: str, domain: str, fresh: bool) -> Call:
        arguments = {"kind": "exact", "text": key, "domain": domain, "fresh": fresh}
        return self.ask(lambda request: c.Call(request, "get", arguments))

    def read(self, key: str, domain: str, fresh: bool, turn: int) -> None:
        """Get a topic like `ask_get`, and record the result for a comparison with other nodes."""
        call = self.ask_get(key, domain, fresh)
        self._reading[call.request] = turn, FRESH if fresh else CACHED

    def ask_erase(self, key: str, domain: str) -> None:
        self.event("erase", keys=(key,), domain=domain)
        self.ask(lambda request: c.Call(request, "erase", {"key": key, "domain": domain}))

    def unsubscribe(self, s: Subscription) -> None:
        if s.number in self.subscriptions:
            self.event("unsub", sub=s.number)
            super().unsubscribe(s)

    def move(self, address: str) -> None:
        self.event("visit", to=address)
        super().move(address)

    def _dial(self, key: int, address: str) -> Pipe | None:
        if self.roams:
            self.event("dials", to=address)
        return super()._dial(key, address)

    def die(self) -> None:
        if not self.is_closed:
            self.event("down")
            super().die()

    def close(self) -> None:
        if not self.is_closed:
            self.event("down")
            super().close()

    # --- receiving ------------------------------------------------------------------------------------------

    def happened(self, kind: str, text: str) -> None:
        if kind == "disconnected" and text not in (
            "disconnected",
            "silent",
            "the connection to the node was lost",
        ):
            self.history.met("broken client")
        elif kind == "refused" and text.endswith("[NODE_FULL]"):
            self.history.met("refused by a full node")

    def check_places(self, command: c.Items, envelopes: list[Envelope]) -> None:
        """Check nothing here: C3.7 checks the whole history."""

    def concluded(self, call: Call, reply: c.Reply) -> None:
        match call.command:
            case c.Subscribe(subscription=number) if not reply.code:
                self.event("confirmed", sub=number, to=self.session_name)
            case c.Call() if call.request in self._reading:
                self._has_read(call, reply)
            case c.Call(verb=verb) if reply.code:
                self.history.met(f"{verb}: {reply.code}")
            case c.Call(verb="erase", arguments={"key": key, "domain": domain}):
                self.event("erased", keys=(key,), domain=domain)
            case c.Call(verb="get"):
                for e in call.found:
                    self._found(e)

    def _found(self, e: Envelope) -> None:
        contents = e.contents()
        for i in range(e.count):
            self.event("got", **id_of(e, i), keys=(e.keys[e.row(i)],), text=sum_of(contents[i]))

    def _has_read(self, call: Call, reply: c.Reply) -> None:
        turn, how = self._reading.pop(call.request)
        assert isinstance(call.command, c.Call)
        said: Any = call.command.arguments
        to = self.session_name.split("/")[2]
        what: dict[str, Any] = {"keys": (said["text"],), "domain": said["domain"], "sub": turn, "to": to}
        if reply.code:
            self.event("read", text=reply.code, flags="refused", **what)
        elif not call.found:
            self.event("read", text=how, **what)
        for e in call.found:
            own = what | {"domain": e.domain, "stream": e.stream.hex(), "first": e.first, "stamp": e.sent}
            self.event("read", text=how, flags="p" if e.persistent else "", **own)

    def answered(self, answer: c.Answer) -> None:
        number = (answer.domain, answer.first)
        if answer.state == "OK" and number in self.warned:
            self.history.met("FORWARD_WARNING, then OK")
        if answer.state != "OK":
            self.history.met(f"answered {answer.state}")
        what: Any = {"domain": answer.domain, "first": answer.first, "last": answer.last}
        self.event("answer", stream=self.stream.hex(), text=answer.state, **what)

    def enter(self, w: c.Welcome) -> None:
        if self.core.line.handshake.boot == w.node.boot:
            self.history.met("session taken up again")
        if self.roams:
            self._is_moving = True
            self.event("came to", stream=self.stream.hex(), to=w.node.name)

    def wrote(self, e: Envelope) -> None:
        super().wrote(e)
        size = StoredEnvelope(e).size
        if size > self._largest:
            self._largest = size
            self.event("envelope", stamp=size)
        flags = "p" if e.persistent else ""
        for i, content in enumerate(e.contents()):
            what = {**id_of(e, i), "last": e.number(i), "keys": (e.keys[e.row(i)],)}
            self.event("pub", **what, text=sum_of(content), flags=flags, to=e.to)

    def _look(self) -> None:
        super()._look()
        was_moving, self._is_moving = self._is_moving, self.core.visits.is_moving
        if was_moving and not self._is_moving:
            self.event("released", stream=self.stream.hex())

    def came(self, s: Subscription) -> None:
        size = sum(len(batch._envelope.body) for batch in s.waiting)
        if size > self._most:
            self._most = size
            self.event("sample", text="feed", stamp=size)

    def missed(self, s: Subscription, gap: int) -> None:
        self.history.met("gap told", gap)
        self.event("gap", sub=s.number, gap=gap)

    def used(self, s: Subscription, new: list[Got]) -> None:
        for message in new:
            self._delivered(s, message)
            if s.number == INBOX:
                self._answer(message)

    def _answer(self, letter: Got) -> None:
        """Answer a message from another site: send it back to its sender."""
        content = ANSWER + letter.content
        if letter.sender.startswith(OTHERS) and not letter.content.startswith(ANSWER):
            persistent, domain = letter.is_persistent, letter.id[1]
            self.net.after(
                0.0,
                lambda: self.send(letter.sender, content, force=True, persistent=persistent, domain=domain),
            )

    def retracted(self, s: Subscription, batch: Batch) -> None:
        self.history.met("retracted what its master did not take", len(batch))
        for message in batch:
            self.event("retracted", sub=s.number, **id_of(message._envelope, message._index))

    def _delivered(self, s: Subscription, got: Got) -> None:
        stream, domain, number = got.id
        marks = (
            ("p", got.is_persistent),
            ("i", got.is_initial),
            ("e", got.is_erased),
            ("d", got.is_provisional),
        )
        route = tuple(f"{node}/{stratum}" for node, stratum in zip(got.route, got.strata, strict=True))
        if got.is_provisional:
            self.history.met("given before its master had it")
        if got.is_initial:
            self.history.met("last value to a late subscriber")
        self.event(
            "deliver",
            sub=s.number,
            stream=stream.hex(),
            domain=domain,
            first=number,
            keys=(got.key,),
            text=sum_of(got.content),
            flags="".join(letter for letter, is_so in marks if is_so),
            route=route,
            to=got.sender,
        )
