"""How is a part of a queue doing? What a node says of its own to those who have something for it."""

# Law 1: whatever a peer says is refused, or read as a stock that takes no more than it says.
# Law 2: a stock that is written is read as it was, and is never longer than a note may be.

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import inf, isfinite
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import astuple

from discovery.state import Natural
from mesh.errors import BadSelector, RemoteError
from mesh.queues.selecting.selector import Selector
from mesh.queues.takers.taker import QueueTaker, TakerSelector
from mesh.values import Headers
from mesh.wire.codec import pack, reader
from mesh.wire.limits import NOTE

SELECTORS = 8  # that are told, and heeded; with more, or longer ones, somebody takes whatever comes
LONG = 3 * 1024  # bytes of all of them
AHEAD = 1.0  # s: as much as consumers take in that may wait for them where it was put,
SOON = 0.5  # s: and where it comes from elsewhere: more than it takes to come, less than a busy one is late
MOST = 10_000  # messages that are wanted so at most
TENTH = 0.1  # of a figure: a change that is worth telling


class Stock(Struct, frozen=True, array_like=True):
    """The state of a queue at one node, for nodes that forward messages to it.

    Attributes:
        wants: Messages that its consumers have or soon have capacity for, beyond those that are ready or in
            transit.
        ready: Messages that wait.
        leaves: Messages a second that leave.
        selectors: Selectors of its consumers. At most 8 count.
        is_any: Whether a consumer accepts every message.
        is_volatile: Whether it keeps messages in memory only.
        is_leaving: Whether to send no messages there.
    """

    wants: Natural = 0
    ready: Natural = 0
    leaves: Annotated[float, Meta(ge=0)] = 0.0
    selectors: tuple[str, ...] = ()
    is_any: bool = True
    is_volatile: bool = False
    is_leaving: bool = False

    def pack(self) -> bytes:
        """As it is told."""
        return pack(astuple(self))

    @classmethod
    def unpack(cls, note: bytes) -> Stock:
        """What a peer has said; what a later release has added is left out. RemoteError."""
        stock = _read(note)
        if not isfinite(stock.leaves):
            raise RemoteError(f"{stock.leaves} messages a second leave a queue", code="MALFORMED")
        return stock


_read = reader(Stock, NOTE)


def stock_of(
    takers: Iterable[QueueTaker],
    ready: int,
    coming: int,
    leaves: float,
    *,
    is_volatile: bool = False,
    is_leaving: bool = False,
) -> Stock:
    """The stock of a part with these takers. `coming`: messages that are on their way to it."""
    there = [taker for taker in takers if taker.away == inf]
    room = sum(taker.room for taker in there)
    soon = int(min(MOST, leaves * SOON)) if there else 0
    texts = {taker.selector.text if taker.selector is not None else "" for taker in there}
    selectors = tuple(sorted(texts - {""}))
    is_short = len(selectors) <= SELECTORS and sum(len(text.encode()) for text in selectors) <= LONG
    is_any = "" in texts or not is_short
    wants = max(0, room + soon - ready - coming)
    return Stock(
        0 if is_leaving else wants,
        ready,
        round(leaves, 1),  # so that a rate that falls for ever ends
        () if is_any else selectors,
        is_any,
        is_volatile,
        is_leaving,
    )


def is_news(old: Stock | None, new: Stock | None) -> bool:
    """Is it to be told at once? None: nobody takes there."""
    if old is None or new is None:
        return old is not new
    return _kind(old) != _kind(new)


def is_only_wish(old: Stock | None, new: Stock | None) -> bool:
    """Is it no other news than that they want something again? Where just enough comes that is said with each
    message.
    """
    if old is None or new is None or old.wants:
        return False
    return new.wants > 0 and _kind(old)[1:] == _kind(new)[1:]


def is_wanted_more(old: Stock, new: Stock) -> bool:
    """Does it want twice as much? Whoever has that should know soon: he goes by what he was told."""
    return new.wants >= 2 * old.wants > 0


def is_worth_telling(old: Stock, new: Stock) -> bool:
    """Is it to be told with the next ones: did a figure change by a tenth?"""
    figures = ((old.wants, new.wants), (old.ready, new.ready), (old.leaves, new.leaves))
    return is_news(old, new) or any(abs(b - a) > TENTH * max(a, b) for a, b in figures)


def _kind(stock: Stock) -> tuple[object, ...]:
    return stock.wants > 0, stock.selectors, stock.is_any, stock.is_volatile, stock.is_leaving


# --- what it takes ------------------------------------------------------------------------------------------


class Matching:
    """A choice of messages that somebody takes: those that one of the `selectors` wants; None: all."""

    __slots__ = ("_selectors", "takes_all")

    def __init__(self, selectors: Sequence[TakerSelector] | None) -> None:
        self._selectors = selectors or ()
        self.takes_all = selectors is None

    def __bool__(self) -> bool:
        """May it take anything at all?"""
        return self.takes_all or bool(self._selectors)

    def takes(self, key: str, priority: int, headers: Headers) -> bool:
        """Does it take that message?"""
        return self.takes_all or any(each.wants(key, priority, headers) for each in self._selectors)


def matching(stock: Stock) -> Matching:
    """Of a part elsewhere. A selector that is none, or one too many, takes nothing."""
    if stock.is_leaving:
        return Matching(())
    if stock.is_any:
        return Matching(None)
    return Matching([s for text in stock.selectors[:SELECTORS] if (s := _selector(text)) is not None])


def matching_here(takers: Iterable[QueueTaker]) -> Matching:
    """Of the takers of a part here."""
    selectors = [taker.selector for taker in takers if taker.away == inf]
    known = [selector for selector in selectors if selector is not None]
    return Matching(known if len(known) == len(selectors) else None)


@lru_cache(1000)
def _selector(text: str) -> Selector | None:
    try:
        return Selector(text)
    except BadSelector:
        return None
