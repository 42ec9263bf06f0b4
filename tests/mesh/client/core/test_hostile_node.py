"""A node that says anything at any time: the core goes on, tells nobody twice, and can be closed."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from mesh.client.core.effects import Dial, Find, HangUp, Send
from mesh.client.core.framing import Framing
from mesh.client.core.intake import Intake, Terms
from mesh.errors import MeshError, RemoteError
from mesh.wire import commands as c
from mesh.wire.envelope import PERSISTENT
from tests.mesh.client.core.benches import ACCESS, CoreBench
from tests.mesh.wire.goldens import GOLDENS
from tests.seeds import stories
from tools.costing.wire import WELCOME

NUMBERS = (0, 1, 2, 3, 16, 2**31, 2**62)
SAID_TO_CLIENTS = (c.Items, c.Answers, c.Reply, c.Ended, c.Ping, c.Pong, c.Unknown)
FOR_CLIENTS = sorted(name for name in GOLDENS if isinstance(c.decode(GOLDENS[name][0]), SAID_TO_CLIENTS))
WORDS = ("", "OK", "FORWARD_WARNING", "REFUSED", "SLOW_CONSUMER", "POISONED", "k", "\ud800")


def changed(dice: random.Random, value: Any) -> Any:
    """The same with some numbers and words that are others."""
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
    """What a client does while its node, which is let in, says what it likes."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.bench = CoreBench()
        self.core = self.bench.core
        self.framing = Framing(lambda frames: None)
        self.intakes: list[Intake] = []

    def step(self) -> None:
        self.dice.choice(
            [self.hear] * 6 + [self.publish, self.subscribe, self.use, self.ask, self.pass_time]
        )()
        self.go_on()

    def go_on(self) -> None:
        """As a shell does: until nothing is to be done."""
        self.bench.wait(0.0)
        for effect in self.bench.done:
            match effect:
                case Find():
                    self.core.found(self.bench.desk.now, ACCESS)
                case Dial():
                    self.framing = Framing(lambda frames: None)
                case Send() | HangUp():
                    pass
        self.bench.done.clear()

    def hear(self) -> None:
        now, key = self.bench.desk.now, self.core.line.key
        try:
            message = self.framing.received(now, self.frames())
        except RemoteError as error:
            self.core.gone(now, key, str(error))
            return
        if message is None:
            self.core.moved(now, key)
        else:
            self.core.received(now, key, *message)

    def frames(self) -> list[bytes]:
        """A message as the page of the wire has it, or nearly, or the one that lets us in."""
        if not self.core.line.is_up and self.dice.random() < 0.7:
            return [c.encode(WELCOME)]
        names = FOR_CLIENTS if self.dice.random() < 0.95 else sorted(GOLDENS)
        frames = list(GOLDENS[self.dice.choice(names)])
        which = self.dice.random()
        if which < 0.7:
            with suppress(RemoteError, UnicodeEncodeError):  # else nobody can say that
                frames[0] = c.encode(changed(self.dice, c.decode(frames[0])))
        return frames

    def publish(self) -> None:
        flags = self.dice.choice((0, PERSISTENT))
        with suppress(MeshError):  # no room, or more than its node will take
            number = self.core.publisher.post("k", b"x", "", flags, b"", 0)
            self.core.publisher.verdicts.wait("", number, last=self.dice.random() < 0.5)

    def subscribe(self) -> None:
        intake = self.core.subscriptions.make(c.Query("pattern", "#"), True, Terms())
        self.core.subscriptions.enter(intake)
        self.intakes.append(intake)

    def use(self) -> None:
        for intake in self.intakes:
            while intake.take() is not None:
                intake.count()
        if self.intakes and self.dice.random() < 0.3:
            self.core.subscriptions.leave(self.intakes.pop())

    def ask(self) -> None:
        self.core.calls.ask(lambda request: c.Call(request, "info", {}))

    def pass_time(self) -> None:
        self.bench.wait(self.dice.choice((0.001, 1.0, 7.0)))


@pytest.mark.parametrize("seed", stories(range(40)))
def test_whatever_a_node_says_the_core_goes_on_and_ends(seed: int) -> None:
    insider = Insider(seed)
    for _ in range(150):
        insider.step()
    waiting = [pending.promise for pending in insider.core.calls._pending.values()]
    insider.core.close()
    insider.bench.wait(60.0)
    assert insider.bench.desk.due == float("inf") and insider.core.line.key == 0
    for promise in waiting:
        assert promise.done()
        with pytest.raises(MeshError):
            promise.result()  # type: ignore[attr-defined]
