"""What does a witness look on at? Its outbox and its reader say what leaves, comes, and becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

from mesh.streams.outbox import Outbox
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from tools.simulating.clients.kept import Got, Subscription
from tools.simulating.clients.line import Line
from tools.simulating.clients.reader import Reader


class Diary(Outbox):
    """An outbox as `before`, of whose envelopes `wrote` is told, and `heard` of each word that is news."""

    def __init__(
        self, before: Outbox, wrote: Callable[[Envelope], None], heard: Callable[[str, int, int, bool], None]
    ) -> None:
        super().__init__(*before.window)
        self._wrote, self._heard = wrote, heard

    def add(self, envelope: Envelope) -> Envelope:
        e = super().add(envelope)
        self._wrote(e)
        return e

    def answered(self, domain: str, first: int, last: int, final: bool) -> list[tuple[int, int]]:
        fresh = super().answered(domain, first, last, final)
        for a, b in fresh:
            self._heard(domain, a, b, final)
        return fresh


class Attention(Reader):
    """A reader that tells `delivered` of each message that is used up, and `missed_some` of each gap."""

    def __init__(
        self,
        line: Line,
        delivered: Callable[[Subscription, Got], None],
        missed_some: Callable[[Subscription, int], None],
    ) -> None:
        super().__init__(line)
        self._delivered, self._missed_some = delivered, missed_some

    def use_one(self, s: Subscription) -> None:
        batch = s.items[0]
        super().use_one(s)
        for got in batch:
            self._delivered(s, got)

    def missed(self, s: Subscription, gap: int) -> None:
        super().missed(s, gap)
        self._missed_some(s, gap)

    def check_place(self, head: c.ItemHead, e: Envelope, indices: list[int]) -> None:
        """That is judged with the whole history: C3.7."""


def sum_of(content: bytes) -> str:
    """By which a content is known again."""
    return f"{crc32(content):08x}"
