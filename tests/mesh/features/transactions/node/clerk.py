"""A simulated client that commits transactions, by wire commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mesh.features.transactions.wire import ACK, COMMIT, NACK, PREPARE, Commit, Settled
from mesh.wire import commands as c
from mesh.wire.envelope import PERSISTENT, Envelope
from mesh.wire.frames import body_frames
from mesh.wire.limits import QUEUES, SERVICES, TRANSACTIONS
from mesh.wire.packed import PackedEnvelopes
from tests.mesh.features.queues.node.worker import Worker


class Clerk(Worker):
    """A client at a node that settles, puts and publishes in transactions."""

    speaks = (SERVICES, QUEUES, TRANSACTIONS)
    count = 0  # of its transactions
    lowest = 1  # all below are answered

    def ack(self, *tags: int, queue: str = "jobs", what: int = ACK, delay: int = 0, boot: int = 0) -> Settled:
        """Return the ack of deliveries of subscription 1."""
        some = [self.held[1][tag - 1] for tag in tags]
        numbers = [end for _, n in sorted(some) for end in (n, n)]
        boot = boot or self.node.disk.boot
        return Settled(queue, boot, what, delay, False, some[0][0], tuple(numbers))

    def nack(self, *tags: int, delay: int = 0) -> Settled:
        return self.ack(*tags, what=NACK, delay=delay)

    def message(self, key: str, content: bytes, flags: int = PERSISTENT, domain: str = "") -> Envelope:
        """Return the envelope of a message, with the next number of its domain."""
        first = self.puts[f"topic {domain}"] = self.puts.get(f"topic {domain}", 0) + 1
        return Envelope(self.stream, domain, first, first, (key,), 1, len(content), content, flags=flags)

    def commits(
        self, settles: Sequence[Settled] = (), *envelopes: Envelope, count: int = 0, name: str = ""
    ) -> int:
        """Send COMMIT, and return the number of its request; with a `name`, only prepare."""
        self.count = count or self.count + 1
        self._requests += 1
        packed, phase = PackedEnvelopes(envelopes), PREPARE if name else COMMIT
        command = Commit(self._requests, self.count, self.lowest, phase, tuple(settles), packed.sizes, name)
        self.say(command, *((packed,) if envelopes else ()))
        return self._requests

    def commit(self, settles: Sequence[Settled] = (), *envelopes: Envelope, count: int = 0) -> c.Reply:
        """Commit, and return the reply."""
        return self.reply_to(self.commits(settles, *envelopes, count=count))

    def prepare(self, name: str, settles: Sequence[Settled], *envelopes: Envelope, count: int = 0) -> str:
        """Prepare a transaction, and return the code of the refusal."""
        return self.reply_to(self.commits(settles, *envelopes, count=count, name=name)).code

    def decide(self, name: str, do: str) -> str:
        """Decide a prepared transaction, and return the outcome, or the code of the refusal."""
        reply = self.ask("tx_decide", name=name, do=do)
        return reply.code or str(reply.value["outcome"])

    def prepared(self, **more: Any) -> dict[str, Any]:
        return self.ok(self.ask("tx_ls", **more))

    def publish_again(self, envelope: Envelope) -> None:
        """Publish an envelope outside of a transaction."""
        self.say(c.Publish((body_frames(envelope),)), envelope)

    def reply_to(self, request: int) -> c.Reply:
        self.net.until(lambda: self.said(request))
        reply = self.said(request)
        assert reply is not None
        return reply

    def code(self, *args: Any, **more: Any) -> str:
        """Commit, and return the code of the refusal."""
        return self.commit(*args, **more).code
