"""The state of a local queue, which its node reports to nodes with messages for the queue."""

# Law 1: a peer's report is refused, or read as a demand that is no higher than the report says.
# Law 2: a report is read back exactly as it was written, and never exceeds the size limit of a note.

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import inf, isfinite
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import astuple

from mesh.discovery.state import Natural
from mesh.errors import BadSelector, RemoteError
from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer, TakerSelector
from mesh.features.queues.model.selecting.selector import Selector
from mesh.values import Headers
from mesh.wire.codec import pack, reader
from mesh.wire.limits import NOTE

SELECTORS = 8  # limit; beyond it, `is_any` is reported
LONG = 3 * 1024  # bytes of all selectors, likewise
AHEAD = 1.0  # s of consumption that may wait where published
SOON = 0.5  # s of consumption wanted from other nodes
MOST = 10_000  # limit of messages wanted for SOON
TENTH = 0.1  # relative change that is worth a report


class QueueReport(Struct, frozen=True, array_like=True):
    """The state of a queue at one node, for nodes that forward messages to it.

    Attributes:
        wants: Messages that the node's consumers can receive now or soon, beyond the messages that are ready
            or being stored. 0 while the node is drained.
        ready: Messages that wait.
        leaves: Messages that the node's consumers acknowledge per second.
        selectors: Selectors of the node's consumers; empty if `is_any`. At most 8 count.
        is_any: Whether a consumer accepts every message, or the selectors are too many or too long to list.
        is_volatile: Whether the node keeps messages of the queue in memory only.
        is_leaving: Whether the node is being drained, so that no messages are sent to it.
    """

    wants: Natural = 0
    ready: Natural = 0
    leaves: Annotated[float, Meta(ge=0)] = 0.0
    selectors: tuple[str, ...] = ()
    is_any: bool = True
    is_volatile: bool = False
    is_leaving: bool = False

    def pack(self) -> bytes:
        return pack(astuple(self))

    @classmethod
    def unpack(cls, note: bytes) -> QueueReport:
        """Return the state that a peer sent, without fields of later releases. Raises: RemoteError."""
        stock = _read(note)
        if not isfinite(stock.leaves):
            raise RemoteError(
                f"a queue report has the rate {stock.leaves}, which is not finite", code="MALFORMED"
            )
        return stock


_read = reader(QueueReport, NOTE)


def stock_of(
    takers: Iterable[QueueConsumer],
    ready: int,
    coming: int,
    leaves: float,
    *,
    is_volatile: bool = False,
    is_leaving: bool = False,
) -> QueueReport:
    """Return the state of a local queue with the consumers `takers`.

    `ready` counts its ready messages, and `coming` the messages being stored. `leaves` is the number of acks
    per second.
    """
    there = [taker for taker in takers if taker.away == inf]
    room = sum(taker.room for taker in there)
    soon = int(min(MOST, leaves * SOON)) if there else 0
    texts = {taker.selector.text if taker.selector is not None else "" for taker in there}
    selectors = tuple(sorted(texts - {""}))
    is_short = len(selectors) <= SELECTORS and sum(len(text.encode()) for text in selectors) <= LONG
    is_any = "" in texts or not is_short
    wants = max(0, room + soon - ready - coming)
    return QueueReport(
        0 if is_leaving else wants,
        ready,
        round(leaves, 1),  # rounded so that a falling rate ends
        () if is_any else selectors,
        is_any,
        is_volatile,
        is_leaving,
    )


def is_news(old: QueueReport | None, new: QueueReport | None) -> bool:
    """Return whether a change must be reported soon; `None` is the report of a node without consumers."""
    if old is None or new is None:
        return old is not new
    return _kind(old) != _kind(new)


def is_only_wish(old: QueueReport | None, new: QueueReport | None) -> bool:
    """Return whether the only news is that the node wants messages again.

    At a node that receives just enough messages, this news would be reported with each message.
    """
    if old is None or new is None or old.wants:
        return False
    return new.wants > 0 and _kind(old)[1:] == _kind(new)[1:]


def is_wanted_more(old: QueueReport, new: QueueReport) -> bool:
    """Return whether the demand has at least doubled, which senders should know soon."""
    return new.wants >= 2 * old.wants > 0


def is_worth_telling(old: QueueReport, new: QueueReport) -> bool:
    """Return whether to report a change at all: it is news, or a figure changed by more than a tenth."""
    figures = ((old.wants, new.wants), (old.ready, new.ready), (old.leaves, new.leaves))
    return is_news(old, new) or any(abs(b - a) > TENTH * max(a, b) for a, b in figures)


def _kind(stock: QueueReport) -> tuple[object, ...]:
    return stock.wants > 0, stock.selectors, stock.is_any, stock.is_volatile, stock.is_leaving


# --- accepted messages --------------------------------------------------------------------------------------


class Matching:
    """The messages that at least one of `selectors` matches, or all messages if `selectors` is `None`."""

    __slots__ = ("_selectors", "takes_all")

    def __init__(self, selectors: Sequence[TakerSelector] | None) -> None:
        self._selectors = selectors or ()
        self.takes_all = selectors is None

    def __bool__(self) -> bool:
        return self.takes_all or bool(self._selectors)

    def takes(self, key: str, priority: int, headers: Headers) -> bool:
        return self.takes_all or any(each.wants(key, priority, headers) for each in self._selectors)


def matching(stock: QueueReport) -> Matching:
    """Return the messages that a remote part accepts: none while its node is being drained.

    Invalid or excess selectors match no message.
    """
    if stock.is_leaving:
        return Matching(())
    if stock.is_any:
        return Matching(None)
    return Matching([s for text in stock.selectors[:SELECTORS] if (s := _selector(text)) is not None])


def matching_here(takers: Iterable[QueueConsumer]) -> Matching:
    """Return the messages that the connected consumers of a local part match."""
    selectors = [taker.selector for taker in takers if taker.away == inf]
    known = [selector for selector in selectors if selector is not None]
    return Matching(known if len(known) == len(selectors) else None)


@lru_cache(1000)
def _selector(text: str) -> Selector | None:
    try:
        return Selector(text)
    except BadSelector:
        return None
