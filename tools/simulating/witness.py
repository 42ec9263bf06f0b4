"""A client that writes down what it says and what it is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from zlib import crc32

from mesh.errors import RemoteError
from mesh.streams.outbox import Outbox
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from tools.simulating.client import Call, Got, SimClient, Subscription
from tools.simulating.history import Event, History
from tools.simulating.weather import HarshNetwork


class Witness(SimClient):
    """`boot` in its events is that of its node."""

    net: HarshNetwork

    def __init__(self, net: HarshNetwork, address: str, name: str, history: History, session: int = 0,
                 unique: str = "") -> None:  # fmt: skip
        self.history, self._unique = history, unique or name
        self.names: dict[str, Subscription] = {}  # by the names that the script gives them
        self.state_now = ""  # of the answer at hand
        self._counted = 0
        super().__init__(net, address, name, session)
        self.outbox = Diary(self.outbox, self)

    def called(self, name: str) -> str:
        return f"client {self._unique}"

    def event(self, kind: str, **what: Any) -> None:
        self.history.add(replace(Event(self.net.now, kind, self.name, self._boot), **what))

    def listen(self, name: str, pattern: str, domain: str, initial: bool, rate: float | None) -> None:
        """Subscribe, and do not wait for it."""
        self._counted += 1
        exact = not any(letter in pattern for letter in "+#")
        query = c.Query("exact" if exact else "pattern", pattern, domain)
        s = self.names[name] = Subscription(self._counted, query, initial, rate)
        self.subscriptions[s.number] = s
        self.event("sub", sub=s.number, keys=(pattern,), domain=domain, flags="i" if initial else "")
        self.ask(lambda request: c.Subscribe(request, s.number, s.query, s.initial))
        if rate:
            self._use_some(s, rate)

    def open_inbox(self) -> None:
        """Read what is sent to this session."""
        if 0 not in self.subscriptions:
            s = self.subscriptions[0] = Subscription(0, c.Query("inbox", ""), False, None)
            self.event("sub", flags="inbox", to=self.session_name)
            self.ask(lambda request: c.Subscribe(request, 0, s.query, s.initial))

    def ask_get(self, key: str, domain: str, fresh: bool) -> None:
        arguments = {"kind": "exact", "text": key, "domain": domain, "fresh": fresh}
        self.ask(lambda request: c.Call(request, "get", arguments))

    def ask_erase(self, key: str, domain: str) -> None:
        self.event("erase", keys=(key,), domain=domain)
        self.ask(lambda request: c.Call(request, "erase", {"key": key, "domain": domain}))

    def unsubscribe(self, s: Subscription) -> None:
        if s.number in self.subscriptions:
            self.event("unsub", sub=s.number)
            super().unsubscribe(s)

    def die(self) -> None:
        if not self.is_closed:
            self.event("down")
            super().die()

    def hear(self, key: Any, frames: list[bytes]) -> None:
        try:
            super().hear(key, frames)
        except RemoteError:
            self.history.met("broken client")
            raise

    def _replied(self, reply: c.Reply, envelopes: list[Envelope]) -> None:
        call = self.calls.get(reply.request)
        super()._replied(reply, envelopes)
        if call is not None and call.reply is not None:
            self._concluded(call, call.reply)

    def _concluded(self, call: Call, reply: c.Reply) -> None:
        match call.command:
            case c.Subscribe(subscription=number) if not reply.code:
                self.event("confirmed", sub=number, to=self.session_name)
            case c.Call(verb=verb) if reply.code:
                self.history.met(f"{verb}: {reply.code}")
            case c.Call(verb="get"):
                for e in call.found:
                    contents = e.contents()
                    for i in range(e.count):
                        self.event(
                            "got", stream=e.stream.hex(), domain=e.domain, first=e.number(i),
                            keys=(e.keys[e.row(i)],), text=sum_of(contents[i]),
                        )  # fmt: skip

    def _answered(self, answer: c.Answer) -> None:
        self.state_now = answer.state
        for number in range(answer.first, answer.last + 1):
            if answer.state == "OK" and self.state(number, answer.domain) == "FORWARD_WARNING":
                self.history.met("FORWARD_WARNING, then OK")
        if answer.state != "OK":
            self.history.met(f"answered {answer.state}")
        super()._answered(answer)

    def _enter(self, w: c.Welcome) -> None:
        before = self._boot
        super()._enter(w)
        if before and before == w.node.boot:
            self.history.met("session taken up again")

    def _use(self, s: Subscription) -> None:
        batch = s.items[0]
        super()._use(s)
        for got in batch:
            self._delivered(s, got)

    def _missed(self, s: Subscription, gap: int) -> None:
        super()._missed(s, gap)
        self.history.met("gap told", gap)
        self.event("gap", sub=s.number, gap=gap)

    def _check_place(self, head: c.ItemHead, e: Envelope, indices: list[int]) -> None:
        """That is judged with the whole history: C3.7."""

    def _delivered(self, s: Subscription, got: Got) -> None:
        stream, domain, number = got.id
        marks = (("p", got.is_persistent), ("i", got.is_initial), ("e", got.is_erased))
        route = tuple(f"{node}/{stratum}" for node, stratum in zip(got.route, got.strata, strict=True))
        if got.is_initial:
            self.history.met("last value to a late subscriber")
        self.event(
            "deliver", sub=s.number, stream=stream.hex(), domain=domain, first=number, keys=(got.key,),
            text=sum_of(got.content), flags="".join(letter for letter, is_so in marks if is_so),
            route=route, to=got.sender,
        )  # fmt: skip


class Diary(Outbox):
    """Its outbox: what leaves, and what becomes of it."""

    def __init__(self, before: Outbox, witness: Witness) -> None:
        super().__init__(*before.window)
        self._witness = witness

    def add(self, envelope: Envelope) -> Envelope:
        e = super().add(envelope)
        keys = tuple(e.keys[row] for row in e.rows())
        for number, key, content in zip(range(e.first, e.last + 1), keys, e.contents(), strict=True):
            self._witness.event(
                "pub", stream=e.stream.hex(), domain=e.domain, first=number, last=number, keys=(key,),
                text=sum_of(content), flags="p" if e.persistent else "", to=e.to,
            )  # fmt: skip
        return e

    def answered(self, domain: str, first: int, last: int, final: bool) -> list[tuple[int, int]]:
        fresh = super().answered(domain, first, last, final)
        for a, b in fresh:
            state = self._witness.state_now if final else "FORWARD_WARNING"
            stream = self._witness.stream.hex()
            self._witness.event("answer", stream=stream, domain=domain, first=a, last=b, text=state)
        return fresh


def sum_of(content: bytes) -> str:
    return f"{crc32(content):08x}"
