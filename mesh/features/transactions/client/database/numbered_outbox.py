"""The unanswered messages of one outbox stream, whose numbers are those of its rows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

from mesh.client.around import Cancellable
from mesh.streams.outbox import Outbox
from mesh.wire.envelope import Envelope

WINDOW = 4 << 20, 1024  # bytes and envelopes, until the node says otherwise


class FinalAnswer(NamedTuple):
    """Numbers of a domain with a final answer."""

    domain: str
    first: int
    last: int


class NumberedOutbox(Outbox):
    """The streams of a session whose numbers are given in a database. `answered` is called at an answer."""

    def __init__(self, answered: Callable[[], None]) -> None:
        super().__init__(*WINDOW)
        self._answered = answered
        self._finals: list[FinalAnswer] = []
        self.held: int = 0  # messages without a final answer

    @property
    def is_idle(self) -> bool:
        """Whether all messages have a final answer, which `take_finals` has returned."""
        return not (self.held or self._finals)

    def place(self, envelope: Envelope) -> Envelope:
        """Add an envelope with numbers above all before in its domain, and return it as it is sent."""
        stream = self._stream(envelope.domain)
        assert envelope.first >= stream.next
        stream.next = envelope.first
        self.held += envelope.count
        return self.add(envelope)

    def note_answer(self, domain: str, first: int, last: int, final: bool) -> list[tuple[int, int]]:
        fresh = super().note_answer(domain, first, last, final)
        if final:
            self._finals += (FinalAnswer(domain, a, b) for a, b in fresh)
            self.held -= sum(b - a + 1 for a, b in fresh)
        self._answered()
        return fresh

    def take_finals(self) -> list[FinalAnswer]:
        """Return the final answers since the last call."""
        finals, self._finals = self._finals, []
        return finals


class Surroundings:
    """The clocks of this machine, with the outbox of a session."""

    def __init__(self, outbox: Outbox) -> None:
        self.outbox: Outbox | None = outbox

    def time(self) -> float:
        return asyncio.get_running_loop().time()

    def wall(self) -> int:
        return time.time_ns()

    def call_at(self, when: float, function: Callable[[], None], /) -> Cancellable:
        return asyncio.get_running_loop().call_at(when, function)

    def timeout(self, seconds: float, /) -> asyncio.Timeout:
        return asyncio.timeout(seconds)
