"""What has a client published, what was it answered, and what does it send again?"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Sequence

from mesh.streams.outbox import Outbox
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.frames import body_frames
from mesh.wire.properties import Properties, encode_properties
from tools.simulating.clients.line import Line

Number = tuple[str, int]  # domain and number of a message


class Publisher:
    """Everything it published is in `sent`, everything it was answered in `answers`."""

    def __init__(self, line: Line, outbox: Outbox) -> None:
        self.outbox = outbox
        self.sent: dict[Number, tuple[str, bytes, bool]] = {}
        self.letters: dict[Number, str] = {}  # of what it sent, to whom
        self.answers: dict[Number, c.Answer] = {}  # the last word so far
        self.warned: set[Number] = set()  # what had another word before
        self._line = line
        self._wanting: deque[Envelope] = deque()  # no room in the window yet

    def post(self, e: Envelope) -> None:
        """As soon as there is room."""
        self._wanting.append(e)
        self.post_wanted()

    def post_wanted(self) -> None:
        while self._wanting and self.outbox.open:
            e = self.outbox.add(self._wanting.popleft())
            for i, content in enumerate(e.contents()):
                self.sent[e.domain, e.number(i)] = (e.keys[e.row(i)], content, e.persistent)
                if e.to:
                    self.letters[e.domain, e.number(i)] = e.to
            self._say(e)

    def resend(self) -> None:
        """What is not answered, and what waited."""
        for e in self.outbox.resend():
            self._say(e)
        self.post_wanted()

    def _say(self, e: Envelope) -> None:
        self._line.say(c.Publish((body_frames(e),)), e)

    def answered(self, answer: c.Answer) -> None:
        is_final = answer.state != "FORWARD_WARNING"
        fresh = self.outbox.answered(answer.domain, answer.first, answer.last, final=is_final)
        for first, last in fresh:
            for number in range(first, last + 1):
                known = self.answers.get((answer.domain, number))
                assert known is None or known.state == "FORWARD_WARNING", "answered twice"
                if known is not None:
                    self.warned.add((answer.domain, number))
                self.answers[answer.domain, number] = answer

    def state(self, number: int, domain: str = "") -> str:
        answer = self.answers.get((domain, number))
        return answer.state if answer else ""

    @property
    def is_answered(self) -> bool:
        """Was each message answered, whatever the last word will be?"""
        return not self._wanting and not self.outbox.unanswered

    @property
    def is_through(self) -> bool:
        """Has everything its last word?"""
        waiting = any(stream.waiting for stream in self.outbox._streams.values())
        return not self._wanting and not waiting


def envelope(
    stream: bytes, words: Sequence[str], slices: Sequence[bytes], domain: str, flags: int, expires: int = 0
) -> Envelope:
    """One message for each word, which is its key; the outbox numbers it."""
    own = encode_properties(Properties(expires=expires))
    slices = [own + content for content in slices]
    table = tuple(dict.fromkeys(words))
    index = array("H", map(table.index, words)).tobytes() if len(table) > 1 else b""
    return Envelope(
        stream=stream,
        domain=domain,
        first=1,
        last=len(words),
        keys=table,
        count=len(words),
        sizes=array("I", map(len, slices)).tobytes(),
        body=b"".join(slices),
        index=index,
        low=1,
        flags=flags,
        expires=expires,
        props=array("I", [len(own)] * len(words)).tobytes() if own else 0,
    )
