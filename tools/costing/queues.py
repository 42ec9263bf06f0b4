"""The cost of an envelope for the nodes of a queue: the one with the producer, and those with consumers."""

from __future__ import annotations

from collections.abc import Hashable

from mesh.proof import stream_of
from mesh.wire import commands as c
from mesh.wire.envelope import PERSISTENT, Envelope
from mesh.wire.frames import body_frames, read, write
from mesh.wire.limits import QUEUES, SERVICES
from tools.costing.meter import Bill
from tools.costing.nodes import ANSWERED, CONTENT, QUIET, THROUGH, MeteredNetwork
from tools.simulator.world.node import SimNode

NAME = "queue/jobs"
CREDIT = 1_000
NAMES = ("frodo", "heron", "ibis")


class Boss:
    """A client at wire level, which puts, or consumes and acks."""

    def __init__(self, net: MeteredNetwork, node: SimNode, name: str) -> None:
        self.name = name
        self._key = name.encode().ljust(32)
        self.answered = self.settled = 0
        self._number = self._given = self._epoch = 0
        self._pipe = net.connect(self, 1, node.ipc)
        self.say(
            c.Hello(
                (1, 2),
                c.CLIENT,
                "",
                b"n" * 16,
                client=self.name,
                key=self._key,
                stream=stream_of(self._key),
                speaks=(SERVICES, QUEUES),
            )
        )

    def say(self, command: c.Command, *envelopes: Envelope) -> None:
        assert self._pipe is not None
        self._pipe.send(0, write(command, envelopes))

    def put(self, count: int) -> None:
        first, self._number = self._number + 1, self._number + count
        e = Envelope(
            stream_of(self._key),
            NAME,
            first,
            self._number,
            ("jobs",),
            count,
            len(CONTENT),
            CONTENT * count,
            flags=PERSISTENT,
            low=first,
            to=NAME,
        )
        self.say(c.Publish((body_frames(e),)), e)

    def hear(self, key: Hashable, frames: list[bytes]) -> None:
        command, envelopes = read(frames)
        match command:
            case c.Answers():
                self.answered += sum(a.last - a.first + 1 for a in command.answers if a.state == "OK")
            case c.Items():
                first, self._given = self._given + 1, self._given + sum(e.count for e in envelopes)
                self.say(c.Ack(command.seq))
                self.settle(first, self._given)
            case c.Reply(request=2):
                assert isinstance(command.value, dict), command
                self._epoch = command.value["epoch"]
            case c.Reply(request=3):
                assert command.value == [], command
                self.settled = self._given

    def settle(self, first: int, last: int) -> None:
        """Ack the deliveries from `first` to `last`, and ask for a reply."""
        self.say(c.Settle(1, self._epoch, (first, last), request=3))

    def on_closed(self, key: Hashable) -> None:
        raise AssertionError("the node has hung up")


class QueuePath:
    """The path from a producer at the first node to consumers at nodes given by index, if any."""

    def __init__(self, *takers: int) -> None:
        self._net = MeteredNetwork()
        nodes = self._net.mesh(*NAMES[: 1 + max(takers, default=0)])
        self._producer = Boss(self._net, nodes[0], "boss")
        self._takers = [Boss(self._net, nodes[at], f"taker{at}") for at in takers]
        self._put, self._is_far = 0, any(takers)
        self._net.run(1)
        self._producer.say(c.Call(1, "queue_declare", {"name": "jobs"}))
        self._net.run(1)
        for taker in self._takers:
            taker.say(c.Consume(2, 1, NAME, CREDIT))
        self._net.run(QUIET)
        self.bill(100)
        self.bill(1)

    def bill(self, count: int) -> Bill:
        """Return the bill for an envelope with `count` messages for each consumer."""
        for each in (self._producer, *self._takers):
            each.say(c.Ping(1))
        self._net.run(THROUGH)
        self._net.meter.take()
        n = count * max(1, len(self._takers))
        self._producer.put(n)
        self._put += n
        self._net.run(ANSWERED if self._is_far else THROUGH)
        bill = self._net.meter.take()
        answered, settled = self._producer.answered, sum(taker.settled for taker in self._takers)
        assert answered == self._put, f"{self._put} were put, {answered} answered"
        assert not self._takers or settled == self._put, f"{settled} of {self._put} acked"
        return bill
