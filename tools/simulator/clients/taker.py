"""A client that consumes from queues, with each step in the history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from mesh.client.core.delivered_envelope import ACK, HERE, DeliveredEnvelope
from mesh.errors import MeshError
from mesh.features.queues.client.core.queue_consumption import QueueConsumption
from mesh.names import PUTS
from mesh.wire import commands as c
from tools.simulator.clients.diary import sum_of
from tools.simulator.clients.producer import Producer

AGAIN = 1.0  # s until a refused call is retried
WORDS = {ACK: "ack", c.NACK: "nack", c.REJECT: "reject", c.EXTEND: "extend"}
# Letters for the outcome of a message: "a" acked, "n" nacked, "d" nacked with a delay, "r" rejected, "e"
# lease extended, "." not settled.
SAYS = {"a": ACK, "n": c.NACK, "d": c.NACK, "r": c.REJECT, "e": c.EXTEND}
LATER, LONGER = 1500, 4000  # ms
Name = tuple[str, str, int]  # stream, domain, and number of a message


@dataclass(eq=False)
class Consumer:
    """A queue from which the client consumes.

    `seconds` is the processing time of a message. `habits` has letters of SAYS, of which one is drawn for
    each message.
    """

    taking: QueueConsumption
    seconds: float
    habits: str
    dice: Random
    opening: int = 0  # last epoch in the history
    silent: list[tuple[DeliveredEnvelope, int]] = field(default_factory=list)  # without a settlement


class Taker(Producer):
    """A client that puts into queues and consumes from them.

    Its events: `opened` at the start of an epoch, with the messages from before in `keys`; `began` when the
    user receives a message; `says` when the user settles it; `settled` when the node has stored that.
    """

    def __init__(self, *args: Any) -> None:
        self.takers: dict[str, Consumer] = {}  # by their names in the script
        self._wanted: dict[str, tuple[Any, ...]] = {}  # consumers that are requested until they succeed
        super().__init__(*args)

    # --- taking -------------------------------------------------------------------------------------------

    def take(self, name: str, *wanted: Any) -> None:
        """Consume from a queue; retry until it succeeds.

        `wanted` has queue, credit, selector, lease in ms, and the seconds and habits of a Consumer.
        """
        self._wanted[name] = wanted
        queue, credit, selector, lease, seconds, habits = wanted
        core = self.core
        with self.acting():
            taking = core.queues.new_consumer(
                core.subscriptions.next_number(), PUTS + queue, credit, selector, lease
            )
            taking.stirred = lambda: None  # it is polled in each turn
            dice = self.net.chance(f"{self.name} takes {name} {taking.number}")
            self.takers[name] = it = Consumer(taking, seconds, habits, dice)
            promise: Any = core.queues.register(taking)
            promise.then(lambda _, error: self._begun(name, it, error))

    def _begun(self, name: str, it: Consumer, error: Any) -> None:
        if isinstance(error, MeshError) and error.code != "CLOSED" and self.takers.get(name) is it:
            self.history.met(f"take: {error.code}")
            del self.takers[name]
            self.net.after(AGAIN, partial(self._take_again, name))

    def _take_again(self, name: str) -> None:
        if not self.is_closed and name in self._wanted and name not in self.takers:
            self.take(name, *self._wanted[name])

    def untake(self, name: str) -> None:
        self._wanted.pop(name, None)
        it = self.takers.pop(name, None)
        if it is not None:
            with self.acting():
                self.core.queues.end_consumption(it.taking)

    def hurry(self) -> None:
        """Change all consumers to process deliveries without delay, and to ack them.

        Unsettled messages with a lease stay unsettled, so that other consumers receive them.
        """
        super().hurry()
        with self.acting():
            for it in self.takers.values():
                it.seconds, it.habits = 0.0, "a"
                silent, it.silent = it.silent, []
                self._work_at(it, [] if it.taking._lease else silent, False)

    def _look(self) -> None:
        super()._look()
        for name, it in list(self.takers.items()):
            self.core.context.now = self.net.now
            self._note_opening(it)
            if it.taking.error is not None:
                self._begun(name, it, it.taking.error)
            new: list[tuple[DeliveredEnvelope, int]] = []
            while (taken := it.taking.take_message()) is not None:
                queued, place, message = taken
                tries, content = queued.tries[place] if queued.tries else 0, sum_of(message.content)
                self._told_of(it, "began", (queued, place), tries, content)
                new.append((queued, place))
            if it.seconds:
                for one in new:
                    self.net.after(it.seconds * it.dice.random(), partial(self._work_at, it, [one], True))
            else:
                self._work_at(it, new, False)

    def _note_opening(self, it: Consumer) -> None:
        """Record that an epoch has begun, and which messages are kept from before."""
        taking = it.taking
        if taking._epoch >= 0 and taking._opening != it.opening:
            it.opening = taking._opening
            kept = [
                "{} {} {}".format(*name_of(queued, place))
                for queued in taking._inbox.envelopes
                for place in queued.are(HERE, 0, len(queued))
                if queued.tag_of(place, it.opening)
            ]
            if kept:
                self.history.met("what somebody had kept over a reconnect", len(kept))
            self._opened(taking.number, taking.address, taking._epoch, kept)

    def _opened(self, number: int, address: str, epoch: int, kept: Sequence[str]) -> None:
        keys = (self.session_name, *kept)
        at = self.core.line.home
        self.event("opened", sub=number, domain=address, stamp=epoch, keys=keys, to=at)

    def _told_of(
        self, it: Consumer, kind: str, one: tuple[DeliveredEnvelope, int], tries: int = 0, text: str = ""
    ) -> None:
        stream, domain, number = name_of(*one)
        self.event(
            kind,
            stream=stream,
            domain=domain,
            first=number,
            sub=it.taking.number,
            gap=tries,
            text=text,
            keys=(self.session_name,),
            to=it.taking.address,
        )

    # --- settling -----------------------------------------------------------------------------------------

    def _work_at(self, it: Consumer, some: Sequence[tuple[DeliveredEnvelope, int]], then_looks: bool) -> None:
        """Settle each delivery, or leave it unsettled, as drawn from the habits of the consumer."""
        if self.is_closed:
            return
        self.core.context.now = self.net.now
        words: dict[str, list[tuple[DeliveredEnvelope, int]]] = {}
        for one in some:
            words.setdefault(it.dice.choice(it.habits), []).append(one)
        for word, ones in words.items():
            self._say(it, word, ones)
        if then_looks:
            self._turn()

    def _say(self, it: Consumer, word: str, ones: list[tuple[DeliveredEnvelope, int]]) -> None:
        if word == ".":
            it.silent += ones
            return
        fit = [one for one in ones if can_settle(it.taking, one)]
        if not fit:
            return
        what, delay = SAYS[word], {"d": LATER, "e": LONGER}.get(word, 0)
        of: dict[DeliveredEnvelope, list[int]] = {}
        for queued, place in fit:
            of.setdefault(queued, []).append(place)
            self._told_of(it, "says", (queued, place), text=WORDS[what])
        promise: Any = it.taking.settle_messages(what, list(of.items()), delay, "no" if word == "r" else "")
        promise.then(lambda _, error: self._settled(it, word, fit, error))
        if word == "e":
            seconds = LONGER / 2000
            self.net.after(seconds, partial(self._say_later, it, "a", fit))

    def _say_later(self, it: Consumer, word: str, ones: list[tuple[DeliveredEnvelope, int]]) -> None:
        if not self.is_closed:
            with self.acting():
                self._say(it, word, ones)

    def _settled(
        self, it: Consumer, word: str, ones: list[tuple[DeliveredEnvelope, int]], error: Any
    ) -> None:
        code = error.code if isinstance(error, MeshError) else "OK"
        if code not in ("OK", "CLOSED"):
            self.history.met(f"settled in vain: {code}")
        if code == "OK":
            for one in ones:
                self._told_of(it, "settled", one, text=WORDS[SAYS[word]])
        elif code not in ("CLOSED", "LEASE_OVER", "NO_QUEUE") and word != "e":
            self.net.after(AGAIN, partial(self._say_later, it, word, ones))

    # --- the end ------------------------------------------------------------------------------------------

    def die(self) -> None:
        self._forget_all()
        super().die()

    def close(self) -> None:
        self._forget_all()
        super().close()

    def _forget_all(self) -> None:
        self.takers.clear()
        self._wanted.clear()


def can_settle(taking: QueueConsumption, one: tuple[DeliveredEnvelope, int]) -> bool:
    try:
        taking.check_settleable(*one)
    except MeshError:
        return False
    return True


def name_of(queued: DeliveredEnvelope, place: int) -> Name:
    return queued.stream.hex(), queued.batch._envelope.to, queued.numbers()[place]
