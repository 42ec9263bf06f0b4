"""What does an envelope cost a node that is put into a queue, and taken from it?"""

from __future__ import annotations

from collections.abc import Hashable

from mesh.proof import stream_of
from mesh.wire import commands as c
from mesh.wire.envelope import PERSISTENT, Envelope
from mesh.wire.frames import body_frames, read, write
from mesh.wire.limits import QUEUES, SERVICES
from tools.costing.meter import Bill
from tools.costing.nodes import CONTENT, QUIET, THROUGH, MeteredNetwork

NAME = "queue/jobs"
CREDIT = 1_000
KEY = b"k" * 32


class QueuePath:
    """A client puts, in the words of the wire, and if somebody `takes`, it is that client, and acks."""

    name = "boss"

    def __init__(self, takes: bool) -> None:
        self._net = MeteredNetwork()
        (node,) = self._net.mesh("heron")
        self._number = self._answered = self._given = self._settled = self._epoch = 0
        self._pipe = self._net.connect(self, 1, node.ipc)
        self._say(
            c.Hello(
                (1, 2), c.CLIENT, "", b"n" * 16, client=self.name, key=KEY, stream=stream_of(KEY),
                speaks=(SERVICES, QUEUES),
            )
        )  # fmt: skip
        self._net.run(1)
        self._say(c.Call(1, "queue_declare", {"name": "jobs"}))
        self._net.run(1)
        if takes:
            self._say(c.Consume(2, 1, NAME, CREDIT))
        self._net.run(QUIET)
        self._takes = takes
        self.bill(100)
        self.bill(1)

    def _say(self, command: c.Command, *envelopes: Envelope) -> None:
        assert self._pipe is not None
        self._pipe.send(0, write(command, envelopes))

    def hear(self, key: Hashable, frames: list[bytes]) -> None:
        """Something from the node."""
        command, envelopes = read(frames)
        match command:
            case c.Answers():
                self._answered += sum(a.last - a.first + 1 for a in command.answers if a.state == "OK")
            case c.Items():
                first, self._given = self._given + 1, self._given + sum(e.count for e in envelopes)
                self._say(c.Ack(command.seq))
                self._say(c.Settle(1, self._epoch, (first, self._given), request=3))
            case c.Reply(request=2):
                assert isinstance(command.value, dict), command
                self._epoch = command.value["epoch"]
            case c.Reply(request=3):
                assert command.value == [], command
                self._settled = self._given

    def gone(self, key: Hashable) -> None:
        """The node has hung up."""
        raise AssertionError("the node has hung up")

    def bill(self, count: int) -> Bill:
        """The bill for an envelope of so many messages."""
        self._say(c.Ping(1))
        self._net.run(THROUGH)
        self._net.meter.take()
        first, self._number = self._number + 1, self._number + count
        e = Envelope(
            stream_of(KEY), NAME, first, self._number, ("jobs",), count, len(CONTENT), CONTENT * count,
            flags=PERSISTENT, low=first, to=NAME,
        )  # fmt: skip
        self._say(c.Publish((body_frames(e),)), e)
        self._net.run(THROUGH)
        bill = self._net.meter.take()
        assert self._answered == self._number, f"{self._number} were put, {self._answered} answered"
        assert not self._takes or self._settled == self._number, f"{self._settled} of {self._number} acked"
        return bill
