"""Which of a publisher's sends to addresses went where, and what came of each?

A send that comes again, after its client's connection broke, must not be given to somebody else.
"""

# Law 1: a number is fresh once. When it comes again it is open, or it has the answer that it had.
# Law 2: what was sent to another node before (RESENT), and is not known here, somebody may have:
#        HANDLER_LOST, never a new choice.
# Law 3: what lies below `low` never comes again, and is forgotten. Of refusals the last KEPT are remembered.

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from mesh.streams.ranges import Ranges
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope

KEPT = 1024
LOST = "HANDLER_LOST"


class EnvelopeWay(Struct, eq=False):
    """Where messages of one envelope went, and which of them are still open. Those that are for all who serve
    the address went to each of several nodes.
    """

    stream: bytes
    to: str
    sender: str
    until: float  # when nobody waits for a reply any more
    is_request: bool
    is_for_all: bool
    nodes: dict[bytes, int | None]  # uuid -> how many have it there; None: it did not say yet
    envelope: Envelope | None = None  # until it is answered
    tries: int = 0
    in_vain: frozenset[bytes] = frozenset()  # uuids of nodes where nobody serves it
    open: dict[int, None] = {}  # numbers that are unanswered, or wait for a reply
    went: float = 0.0  # when
    is_lost: bool = False  # a node is gone that did not say how many have it there, or lost it on its way
    refusal: Answer | None = None  # of one for all: what one of its nodes said, beside that nobody has it
    matched: int = 0  # of one for all, when each node has said it: how many have it
    heard: dict[int, list[bytes]] = {}  # of one for all, by number: the node of each reply


class SentMemory:
    """What one client has sent to addresses."""

    def __init__(self) -> None:
        self.high = 0
        self.unanswered: dict[int, EnvelopeWay | None] = {}  # None: it is being looked up where it is to go
        self.asked: dict[int, EnvelopeWay] = {}  # requests that somebody has
        self._done = Ranges()
        self._refused: dict[int, tuple[str, str]] = {}
        self._low = 1

    def sort(self, e: Envelope, is_resent: bool) -> Iterator[tuple[int, int, Answer | None]]:
        """Its numbers in runs: (first, last, None = fresh, or the answer that they have). What is open is in
        no run: its answer will come.
        """
        self._forget_below(e.low)
        run: tuple[int, int, Answer | None] | None = None
        for n in range(e.first, e.last + 1):
            if n in self.unanswered:
                continue
            is_fresh = n > self.high and not is_resent
            answer = None if is_fresh else self._answer(e.domain, n)
            if run is not None and run[1] == n - 1 and _alike(run[2], answer):
                run = (run[0], n, run[2])
            else:
                if run is not None:
                    yield _run(run)
                run = (n, n, answer)
        self.high = max(self.high, e.last)
        if run is not None:
            yield _run(run)

    def _answer(self, domain: str, n: int) -> Answer:
        if n in self.asked or self._done.common(n, n):
            return Answer(domain, n, n, matched=1)
        code, text = self._refused.get(n, (LOST, "it was sent before, and perhaps somebody has it."))
        return Answer(domain, n, n, code, text=text)

    def open_envelopes(self) -> Iterator[Envelope]:
        """The envelopes of which something is unanswered, or waits for a reply."""
        ways = dict.fromkeys((*self.unanswered.values(), *self.asked.values()))
        return (way.envelope for way in ways if way is not None and way.envelope is not None)

    def was_taken(self, n: int) -> bool:
        """Was its sender told that somebody has it?"""
        return n in self._done

    def answered(self, n: int, code: str, text: str) -> None:
        """That became of it."""
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
