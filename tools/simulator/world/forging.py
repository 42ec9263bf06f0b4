"""Forged messages and erasures of other clients, and invented streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from mesh.values import Hop
from mesh.wire import commands as c
from mesh.wire.envelope import FORCE_QUEUING, INITIAL, PERSISTENT, Envelope
from mesh.wire.frames import body_frames, write

LIES = "lies"  # topic of its own, legitimate messages
MOST = 2**62  # greater than any sequence number
CONTENT = b"never published"


@dataclass(frozen=True, slots=True)
class Forger:
    """A maker of forged messages.

    `me` is the forging node. `others` are the nodes that do not use it as next hop. With `is_signed`, nodes
    check the whole route of a message, otherwise only its two ends.
    """

    me: str
    others: Sequence[str]
    domains: Sequence[str]
    topics: Sequence[str]
    is_signed: bool
    dice: Random

    def said(self, streams: Sequence[bytes], number: int) -> list[bytes]:
        """Return the frames of one more forged message or erasure.

        `number` is arbitrary, and `streams` are those of real clients.
        """
        dice = self.dice
        stream = dice.choice(streams) if streams else dice.randbytes(16)
        if dice.random() < 0.3:
            return self._own(max(1, number % MOST))
        sender, route = self._way()
        if dice.random() < 0.3:
            return write(self._erase(stream, number, sender, route))
        first = max(1, number % MOST)
        return _forward(self._envelope(stream, first, sender, route, dice.choice(self.topics)))

    def _way(self) -> tuple[str, tuple[str, ...]]:
        """Return a sender, and a route by which its message cannot have come."""
        other, another = self.dice.choice(self.others), self.dice.choice(self.others)
        sender = f"/node/{other}/client/pub-{other}/session/1"
        wrong = [(), (other,), (self.me,), (other, another), (self.me, other), (another, self.me, other)]
        if self.is_signed:
            wrong += [(other, self.me), (other, another, self.me)] * 3
        return sender, self.dice.choice(wrong)

    def _own(self, first: int) -> list[bytes]:
        """Return a message of a client that the node claims to have, which no other node can disprove."""
        sender, stream = f"/node/{self.me}/client/lies/session/1", self.dice.randbytes(1) * 16
        return _forward(self._envelope(stream, first, sender, (self.me,), LIES))

    def _envelope(self, stream: bytes, first: int, sender: str, route: tuple[str, ...], key: str) -> Envelope:
        dice = self.dice
        return Envelope(
            stream=stream,
            domain=dice.choice(self.domains),
            first=first,
            last=first,
            keys=(key,),
            count=1,
            sizes=len(CONTENT),
            body=CONTENT,
            low=dice.choice([1, first]),
            sender=sender,
            flags=dice.choice([0, 0, PERSISTENT, PERSISTENT, FORCE_QUEUING, INITIAL]),
            sent=dice.choice([0, 2**60]),
            route=tuple(Hop(node, dice.randint(0, 3), 0) for node in route),
        )

    def _erase(self, stream: bytes, number: int, sender: str, route: tuple[str, ...]) -> c.Call:
        what = {"key": self.dice.choice(self.topics), "domain": self.dice.choice(self.domains)}
        which = {"stream": stream, "number": number, "sender": sender, "route": list(route)}
        return c.Call(number >> 1, "erase", {**what, **which, "copy": self.dice.random() < 0.5})


def _forward(envelope: Envelope) -> list[bytes]:
    return write(c.Forward((body_frames(envelope),)), [envelope])
