"""A client of services: serves addresses, joins groups and sends requests, with each step in the history."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from mesh.client.core.watches import AddressWatch, Registration
from mesh.client.message import Message
from mesh.errors import MeshError
from mesh.features.services.client.core.gathered import Gathered
from mesh.features.services.client.core.requests import One
from mesh.features.services.client.core.serving import ClientServing, TakenRequest
from mesh.names import SENDS
from mesh.wire import commands as c
from mesh.wire.envelope import EVERY, LOCAL_ONLY, REQUEST, Envelope
from tools.simulator.clients.diary import sum_of
from tools.simulator.clients.kept import Call
from tools.simulator.clients.outcome import Outcome
from tools.simulator.clients.witness import Witness, id_of

REPLY = b"re "  # prefix of a reply, before the request
MUTE = "0"  # a checksum's last digit: never reply


@dataclass(eq=False)
class Served:
    """A served address.

    `seconds` is the time to handle a request. Several requests are handled concurrently.
    """

    serving: ClientServing
    seconds: float
    epoch: int = 0  # last epoch in the history; 0 = none


class Partner(Witness):
    """A client of services.

    Its events: `arrived` when a request is delivered; `came` when it is begun; `asked` when a request is
    sent; `ended` for its outcome; `serving` and `lapsed` at the start and end of an epoch.
    """

    def __init__(self, *args: Any) -> None:
        self.served: dict[str, Served] = {}  # by their names in the script
        self.watched: dict[str, tuple[AddressWatch, dict[tuple[str, int], Registration]]] = {}
        self.open: dict[int, str] = {}  # receiver by number of an open request
        super().__init__(*args)
        self._asks = self.new_posts()
        self._pass_on = self.core.subscriptions.others
        self.core.subscriptions.others = self._other

    # --- serving ------------------------------------------------------------------------------------------

    def serve(self, name: str, address: str, credit: int, local_only: bool, seconds: float) -> None:
        """Serve an address without waiting for the confirmation."""
        core = self.core
        with self.acting():
            serving = core.services.new_service(core.subscriptions.next_number(), address, credit, local_only)
            self.served[name] = Served(serving, seconds)
            serving.stirred = lambda: None  # it is polled in each turn
            flags = "l" * local_only + "q" * (not seconds)
            self.event("serve", sub=serving.number, to=address, flags=flags, keys=(self.session_name,))
            self._keep(core.services.register(serving))

    def unserve(self, name: str) -> None:
        served = self.served.pop(name, None)
        if served is None:
            return
        with self.acting():
            pending = self.core.services.unregister(served.serving)
            self._lapse(served)
            self.event("unserve", sub=served.serving.number, to=served.serving.address)
            self._keep_if_any(pending)

    def hurry(self) -> None:
        """Handle further requests without delay."""
        for served in self.served.values():
            served.seconds = 0.0

    def concluded(self, call: Call, reply: c.Reply) -> None:
        super().concluded(call, reply)
        if isinstance(call.command, c.Consume) and reply.code:
            for name, served in list(self.served.items()):
                if served.serving.number == call.command.subscription:
                    self.core.services.give_up(served.serving)
                    del self.served[name]
                    self.event("serve refused", to=served.serving.address, text=reply.code)

    def _other(
        self, number: int, head: c.ItemHead, envelope: Envelope, indices: tuple[int, ...] | None
    ) -> None:
        self._note_epochs()
        for served in self.served.values():
            if served.serving.number == number and served.epoch:
                for i in range(envelope.count) if indices is None else indices:
                    self._given("arrived", served, envelope, i)
        self._pass_on(number, head, envelope, indices)

    def _given(self, kind: str, served: Served, e: Envelope, i: int) -> None:
        self.event(
            kind,
            **id_of(e, i),
            keys=(self.session_name, e.keys[e.row(i)], self.core.line.home),
            text=sum_of(e.message(i)[1]),
            sub=served.serving.number,
            flags="l" * served.serving._local_only,
            to=served.serving.address,
            route=tuple(hop.node for hop in e.route),
            stamp=served.epoch,
        )

    def _look(self) -> None:
        super()._look()
        self._note_epochs()
        self._look_on()
        for served in list(self.served.values()):
            self.core.context.now = self.net.now
            while (taken := served.serving.take_request()) is not None:
                self._given("came", served, taken.message._envelope, taken.message._index)
                if served.seconds:
                    self.net.after(served.seconds, partial(self._handle, served, taken, True))
                else:
                    self._handle(served, taken, False)

    def _note_epochs(self) -> None:
        for served in self.served.values():
            epoch = served.serving._epoch
            number = epoch.number if epoch is not None and self.core.line.is_up else 0
            if number != served.epoch:
                self._lapse(served)
                served.epoch = number
                if number:
                    self._epoch_event("serving", served)

    def _lapse(self, served: Served) -> None:
        if served.epoch:
            self._epoch_event("lapsed", served)
            served.epoch = 0

    def _epoch_event(self, kind: str, served: Served) -> None:
        it = served.serving
        flags = "l" * it._local_only + "q" * (not served.seconds)
        keys = (self.session_name, self.core.line.home)
        self.event(kind, sub=it.number, to=it.address, flags=flags, keys=keys, stamp=served.epoch)

    def _handle(self, served: Served, taken: TakenRequest, then_looks: bool) -> None:
        """Finish a request; a few are finished without a reply."""
        self.core.context.now = self.net.now
        content = taken.message.content
        if taken.wants_reply and not sum_of(content).endswith(MUTE):
            served.serving.settle_reply(taken, REPLY + content)
        else:
            served.serving.settle(taken)
        if then_looks and not self.is_closed:
            self._turn()

    def die(self) -> None:
        self._lapse_all()
        super().die()

    def close(self) -> None:
        self._lapse_all()
        super().close()

    def _lapse_all(self) -> None:
        for served in self.served.values():
            self._lapse(served)
        self.served.clear()

    # --- watching -------------------------------------------------------------------------------------------

    def look_at(self, address: str) -> None:
        """Begin to watch the servers of an address."""
        if address not in self.watched:
            with self.acting():
                watching = self.core.watches.watch(address)
                watching.stirred = lambda: None
                self.watched[address] = watching, {}

    def _look_on(self) -> None:
        for watching, table in self.watched.values():
            while (news := watching.take_change()) is not None:
                key = (news.uuid, news.boot)
                assert (news.change in ("initial", "added")) == (key not in table), f"{news} of what is known"
                table[key] = news
                if not news.consumers:
                    del table[key]

    # --- asking -------------------------------------------------------------------------------------------

    def ask_for(self, kind: str, address: str, count: int, seconds: float, local_only: bool) -> None:
        """Send `count` requests of one kind to an address as soon as there is space.

        `kind` is "request", "gather", or "tell", which needs no reply. `seconds` is the timeout; 0 means
        none.
        """
        for i in range(count):
            content = f"{self.name} {self.net.now:.6f} {address} {i}".encode()
            self._asks.append(partial(self._ask_now, kind, address, content, seconds, local_only))
        self.post_waiting()

    def _ask_now(self, kind: str, to: str, content: bytes, seconds: float, local_only: bool) -> None:
        core = self.core
        until = core.requests.until(seconds) if seconds else 0.0
        flags = {"request": REQUEST, "gather": REQUEST | EVERY, "tell": 0}[kind]
        flags |= LOCAL_ONLY if local_only else 0
        number = core.publisher.post_to(to, "", content, flags, b"", until)
        self.open[number] = to
        letters = kind[0] + "l" * local_only
        self.event(
            "asked",
            stream=self.stream.hex(),
            domain=SENDS,
            first=number,
            to=to,
            text=sum_of(content),
            flags=letters,
            stamp=int(until * 1e9),
            keys=(self.session_name, self.core.line.home),
        )
        if kind == "gather":
            gathered = Gathered(core.requests.bucket(until), 1000)
            gathered.stirred = partial(self._gathered, number, gathered)
            core.requests.add(number, gathered)
            return
        promise: Any = Outcome()
        if kind == "request":
            core.requests.add(number, One(promise, core.requests.bucket(until), to, seconds))
        else:
            promise = core.publisher.verdicts.when_answered(SENDS, number, True)
        promise.then(partial(self._ended, number, kind))

    def _ended(self, number: int, kind: str, result: Any, error: Any) -> None:
        code = error.code if isinstance(error, MeshError) else "OK"
        if code == "CLOSED":
            return
        assert self.open.pop(number, None) is not None, f"{number} has ended twice"
        reply = result if isinstance(result, Message) else None
        self._outcome("ended", number, code, reply)

    def _gathered(self, number: int, gathered: Gathered) -> None:
        while (taken := gathered.take_reply()) is not None:
            message, error = taken
            self._outcome("gathered", number, "OK" if error is None else error.code, message)
        if gathered.is_over:
            code = "OK" if gathered.error is None else gathered.error.code
            if code != "CLOSED":
                self._ended(number, "gather", None, gathered.error)

    def _outcome(self, kind: str, number: int, code: str, reply: Message | None) -> None:
        """Record the outcome of a request.

        The `keys` of the event have the checksum of the request that the reply repeats.
        """
        said = () if reply is None else (sum_of(reply.content.removeprefix(REPLY)),)
        to = "" if reply is None or not reply.sender else reply.sender
        if code != "OK":
            self.history.met(f"asked in vain: {code}")
        self.event(kind, stream=self.stream.hex(), domain=SENDS, first=number, text=code, keys=said, to=to)

    def told(self, command: c.Command, envelopes: list[Envelope]) -> None:
        super().told(command, envelopes)
        if isinstance(command, c.Answers):
            for a in command.answers:
                if a.domain == SENDS:
                    self.event(
                        "said",
                        stream=self.stream.hex(),
                        domain=SENDS,
                        first=a.first,
                        last=a.last,
                        text=a.state,
                        gap=a.matched,
                    )

    def happened(self, kind: str, text: str) -> None:
        super().happened(kind, text)
        if kind == "disconnected" and text.endswith("]"):
            self.event("cannot read", text=text)

    def wrote(self, e: Envelope) -> None:
        if e.domain != SENDS:
            super().wrote(e)
