"""A node that sends any commands at any time: the core continues, and can be closed."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from mesh.client.core.effects import CloseConnection, DialNode, Find, SendCommand
from mesh.client.core.framing import Framing
from mesh.client.core.intake import Intake, Terms
from mesh.client.core.watches import AddressWatch
from mesh.errors import MeshError, RemoteError
from mesh.features.services.client.core.gathered import Gathered
from mesh.features.services.client.core.requests import REPLIES, One
from mesh.features.services.client.core.serving import ClientServing, TakenRequest
from mesh.names import SENDS
from mesh.wire import commands as c
from mesh.wire.envelope import EVERY, PERSISTENT, REQUEST
from mesh.wire.frames import write
from tests.mesh.client.core.askers import reply
from tests.mesh.client.core.benches import ACCESS, CoreBench
from tests.mesh.client.core.servers import requests
from tests.seeds import scenarios
from tools.costing.wire import WELCOME
from tools.wire_parts.goldens import GOLDENS

NUMBERS = (0, 1, 2, 3, 16, 2**31, REPLIES, 2**62)
SAID_TO_CLIENTS = (c.Items, c.Answers, c.Reply, c.Ended, c.Ping, c.Pong, c.Unknown, c.Serving)
FOR_CLIENTS = sorted(name for name in GOLDENS if isinstance(c.decode(GOLDENS[name][0]), SAID_TO_CLIENTS))
ROWS = (c.Row("address", "a", 2, "heron", b"h" * 16, 1), c.Row("address", "b", 0))
OF_SERVICES = [
    write(c.Serving(1, 1, ROWS)),
    write(c.Serving(1, 1, ROWS[:1])),
    *(write(c.Reply(request, {"epoch": 1})) for request in range(1, 6)),
    *(
        write(c.Answers((c.Answer(SENDS, n, n + 3, state, 2),)))
        for n in (1, 5)
        for state in ("OK", "NO_HANDLERS")
    ),
    *(
        write(c.Items(1, (c.ItemHead(1, targets=((number, b""),), ttl=1000),)), [given])
        for number, given in [
            (REPLIES, reply(1, 2)),
            (REPLIES, reply(3, 4, code="NO")),
            (REPLIES, reply(3, 2**61)),
            *((number, requests(3)) for number in range(1, 6)),
        ]
    ),
]
WORDS = ("", "OK", "FORWARD_WARNING", "REFUSED", "SLOW_CONSUMER", "POISONED", "k", "\ud800")


def changed(dice: random.Random, value: Any) -> Any:
    """Return a copy of `value` with some numbers and words replaced."""
    if isinstance(value, msgspec.Struct):
        fields = {name: changed(dice, getattr(value, name)) for name in value.__struct_fields__}
        return type(value)(**fields)
    if isinstance(value, tuple):
        return tuple(changed(dice, each) for each in value) * dice.choice((0, 1, 1, 1, 2))
    if isinstance(value, bool) or dice.random() < 0.7:
        return value
    if isinstance(value, int):
        return dice.choice(NUMBERS)
    return dice.choice(WORDS) if isinstance(value, str) else value


class Insider:
    """A client whose node is admitted, and then sends any commands."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.bench = CoreBench()
        self.core = self.bench.core
        self.framing = Framing(lambda frames: None)
        self.intakes: list[Intake] = []
        self.promises: list[Any] = []
        self.gathered: list[Gathered] = []
        self.serving: list[ClientServing] = []
        self.taken: list[TakenRequest] = []
        self.watching: list[AddressWatch] = []

    def step(self) -> None:
        self.dice.choice(
            [self.hear] * 9
            + [self.publish, self.subscribe, self.use, self.ask, self.pass_time]
            + [self.request, self.gather, self.serve, self.settle, self.watch]
        )()
        self.go_on()

    def go_on(self) -> None:
        """Execute effects until none is left, as a shell does."""
        self.bench.wait(0.0)
        for effect in self.bench.done:
            match effect:
                case Find():
                    self.core.found(self.bench.context.now, ACCESS)
                case DialNode():
                    self.framing = Framing(lambda frames: None)
                case SendCommand() | CloseConnection():
                    pass
        self.bench.done.clear()

    def hear(self) -> None:
        now, key = self.bench.context.now, self.core.line.key
        try:
            message = self.framing.read_command(now, self.frames())
        except RemoteError as error:
            self.core.on_disconnected(now, key, str(error))
            return
        if message is None:
            self.core.on_piece(now, key)
        else:
            self.core.received(now, key, *message)

    def frames(self) -> list[bytes]:
        """Return a message of the wire page, perhaps changed, or a WELCOME."""
        if not self.core.line.is_up and self.dice.random() < 0.7:
            return [c.encode(WELCOME)]
        if self.dice.random() < 0.4:
            frames = list(self.dice.choice(OF_SERVICES))
            self.numbered(frames)
            return frames
        names = FOR_CLIENTS if self.dice.random() < 0.95 else sorted(GOLDENS)
        frames = list(GOLDENS[self.dice.choice(names)])
        which = self.dice.random()
        if which < 0.7:
            with suppress(RemoteError, UnicodeEncodeError):  # the changed command cannot be encoded
                frames[0] = c.encode(changed(self.dice, c.decode(frames[0])))
        return frames

    def numbered(self, frames: list[bytes]) -> None:
        """Set the next number in a command, mostly, because the connection would seldom survive otherwise."""
        command: Any = c.decode(frames[0])
        if isinstance(command, c.Items):
            command = replace(command, seq=self.core.line.inlet.have + 1)
        elif isinstance(command, c.Serving):
            command = replace(command, number=self.core.watches._heard + 1)
        if self.dice.random() < 0.2:
            command = changed(self.dice, command)
        with suppress(UnicodeEncodeError):
            frames[0] = c.encode(command)

    def publish(self) -> None:
        flags = self.dice.choice((0, PERSISTENT))
        with suppress(MeshError):  # no space, or larger than the node accepts
            number = self.core.publisher.append_message("k", b"x", "", flags, b"", 0)
            self.core.publisher.verdicts.when_answered("", number, last=self.dice.random() < 0.5)

    def subscribe(self) -> None:
        intake = self.core.subscriptions.new_subscription(c.Query("pattern", "#"), True, Terms())
        self.core.subscriptions.register(intake)
        self.intakes.append(intake)

    def use(self) -> None:
        for intake in self.intakes:
            while intake.next_batch() is not None:
                intake.mark_consumed()
        if self.intakes and self.dice.random() < 0.3:
            self.core.subscriptions.unregister(self.intakes.pop())

    def ask(self) -> None:
        self.core.calls.send_with_timeout(lambda request: c.Call(request, "info", {}))

    # --- services ---------------------------------------------------------------------------------------

    def request(self) -> None:
        promise: Any = self.core.context.promise()
        with suppress(MeshError):
            number = self.post(EVERY * self.dice.randrange(2))
            bucket = self.core.requests.bucket(self.core.requests.until(1.0))
            self.core.requests.add(number, One(promise, bucket, "a", 1.0))
            self.promises.append(promise)
            if self.dice.random() < 0.1:
                self.core.requests.drop_request(number)
                promise.set_result(None)

    def gather(self) -> None:
        with suppress(MeshError):
            number = self.post(EVERY)
            bucket = self.core.requests.bucket(self.core.requests.until(1.0))
            self.gathered.append(Gathered(bucket, 3))
            self.core.requests.add(number, self.gathered[-1])

    def post(self, flags: int) -> int:
        return self.core.publisher.post_to(self.dice.choice("ab"), "", b"x", REQUEST | flags, b"", 5.0)

    def serve(self) -> None:
        number = self.core.subscriptions.next_number()
        serving = self.core.services.new_service(number, "a", self.dice.choice((1, 64)), False)
        self.core.services.register(serving)
        self.serving.append(serving)

    def settle(self) -> None:
        for serving in self.serving:
            while (taken := serving.take_request()) is not None:
                self.taken.append(taken)
            for taken in self.dice.sample(self.taken, min(3, len(self.taken))):
                serving.settle_reply(taken, b"x")
                self.taken.remove(taken)
        if self.serving and self.dice.random() < 0.2:
            self.core.services.unregister(self.serving.pop(0))

    def watch(self) -> None:
        self.watching.append(self.core.watches.watch(self.dice.choice("ab")))
        while self.watching[0].take_change() is not None:
            pass
        if self.dice.random() < 0.3:
            del self.watching[0]

    def pass_time(self) -> None:
        self.bench.wait(self.dice.choice((0.001, 1.0, 7.0)))


@pytest.mark.parametrize("seed", scenarios(range(40)))
def test_whatever_a_node_says_the_core_goes_on_and_ends(seed: int) -> None:
    insider = Insider(seed)
    for _ in range(150):
        insider.step()
    insider.pass_time()
    waiting = [pending.promise for pending in insider.core.calls._pending.values()]
    insider.core.close()
    insider.bench.wait(60.0)
    assert insider.bench.context.due == float("inf") and insider.core.line.key == 0
    assert all(promise.done() for promise in insider.promises), "whoever asked was told"
    assert all(gathered.is_over for gathered in insider.gathered)
    assert all(serving.error for serving in insider.serving)
    requests = insider.core.requests
    assert not len(requests) and not requests._buckets and not requests._counting
    for promise in waiting:
        assert promise.done()
        with pytest.raises(MeshError):
            promise.result()  # type: ignore[attr-defined]
