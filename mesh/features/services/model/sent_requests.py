"""Remembers where a publisher's messages to addresses went, and the answer to each.

A message that is resent after a reconnect must not be given to another consumer.
"""

# Law 1: a number is new once. When it is resent, it is still open, or it gets the same answer.
# Law 2: a message that was sent to another node before (RESENT), and is unknown here, may have been
# delivered: it gets HANDLER_LOST, never a new choice.
# Law 3: numbers below `low` are never sent again, and are forgotten. The last KEPT refusals are remembered.

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from mesh.streams.ranges import Ranges
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope

KEPT = 1024
LOST = "HANDLER_LOST"


class EnvelopeWay(Struct, eq=False):
    """The destination of messages of one envelope, and which of them are still open.

    A message for all consumers of an address goes to several nodes.
    """

    stream: bytes
    to: str
    sender: str
    until: float  # deadline of the reply
    is_request: bool
    is_for_all: bool
    nodes: dict[bytes, int | None]  # uuid -> consumers there; None: not reported
    envelope: Envelope | None = None  # until it is answered
    tries: int = 0
    in_vain: frozenset[bytes] = frozenset()  # uuids of nodes without a consumer
    open: dict[int, None] = {}  # unanswered, or waiting for a reply
    went: float = 0.0  # time of sending
    is_lost: bool = False  # a node was lost before it reported its count
    refusal: Answer | None = None  # for all: a node's refusal other than NO_HANDLERS
    matched: int = 0  # for all: total number of consumers
    heard: dict[int, list[bytes]] = {}  # for all: repliers' nodes, by number


class SentRequests:
    """The messages that one client has sent to addresses."""

    def __init__(self) -> None:
        self.high = 0
        self.unanswered: dict[int, EnvelopeWay | None] = {}  # None: its destination is looked up
        self.asked: dict[int, EnvelopeWay] = {}  # accepted requests
        self._done = Ranges()
        self._refused: dict[int, tuple[str, str]] = {}
        self._low = 1

    def sort(self, e: Envelope, is_resent: bool) -> Iterator[tuple[int, int, Answer | None]]:
        """Yield the numbers of the envelope in runs: (first, last, known answer or None if new).

        Open numbers are in no run, as their answer will follow.
        """
        self._forget_below(e.low)
        run: tuple[int, int, Answer | None] | None = None
        for n in range(e.first, e.last + 1):
            if n in self.unanswered:
                continue
            is_fresh = n > self.high and not is_resent
            answer = None if is_fresh else self._answer_for(e.domain, n)
            if run is not None and run[1] == n - 1 and _alike(run[2], answer):
                run = (run[0], n, run[2])
            else:
                if run is not None:
                    yield _run(run)
                run = (n, n, answer)
        self.high = max(self.high, e.last)
        if run is not None:
            yield _run(run)

    def _answer_for(self, domain: str, n: int) -> Answer:
        if n in self.asked or self._done.common(n, n):
            return Answer(domain, n, n, matched=1)
        code, text = self._refused.get(n, (LOST, "The request was sent before, and may have run."))
        return Answer(domain, n, n, code, text=text)

    def open_envelopes(self) -> Iterator[Envelope]:
        """Yield the envelopes with unanswered messages, or messages that wait for a reply."""
        ways = dict.fromkeys((*self.unanswered.values(), *self.asked.values()))
        return (way.envelope for way in ways if way is not None and way.envelope is not None)

    def was_taken(self, n: int) -> bool:
        """Return whether the sender was notified that the message was accepted."""
        return n in self._done

    def record_answer(self, n: int, code: str, text: str) -> None:
        self.unanswered.pop(n, None)
        if code == "OK":
            self._done.add(n, n)
            return
        self._refused[n] = code, text
        if len(self._refused) > KEPT:
            del self._refused[next(iter(self._refused))]

    def _forget_below(self, low: int) -> None:
        if low <= self._low:
            return
        self._done.drop_below(low)
        for n in [n for n in self._refused if n < low]:
            del self._refused[n]
        self._low = low


def _alike(a: Answer | None, b: Answer | None) -> bool:
    if a is None or b is None:
        return a is b
    return (a.state, a.text) == (b.state, b.text)


def _run(run: tuple[int, int, Answer | None]) -> tuple[int, int, Answer | None]:
    first, last, a = run
    return first, last, None if a is None else Answer(a.domain, first, last, a.state, a.matched, a.text)
