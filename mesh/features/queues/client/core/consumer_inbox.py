"""The unsettled messages of a queue consumer, and when their leases end."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from math import inf

from mesh.client.core.delivered_envelope import GONE, HERE, DeliveredEnvelope, LotPlace, Some, fitting


class ConsumerInbox:
    """The messages of one consumer, from their arrival until they are settled or lost, over all epochs.

    The consumer takes the envelopes of `waiting` from the left, as it begins their messages.
    """

    __slots__ = ("_is_closed", "_lease", "lots", "waiting")

    def __init__(self, lease: int) -> None:
        """Set up an empty inbox. `lease` in ms; 0: none."""
        self._lease = lease
        self._is_closed = False
        self.lots: dict[DeliveredEnvelope, None] = {}  # with unsettled messages
        self.waiting: deque[DeliveredEnvelope] = deque()  # with messages that are not begun

    def add(self, lot: DeliveredEnvelope, now: float) -> None:
        """Add an envelope, and start its lease."""
        if self._lease and any(lot.tries):
            self._outdate(lot)
        lot.since, lot.until = now, now + self._lease / 1000 if self._lease else inf
        self.lots[lot] = None
        self.waiting.append(lot)

    def _outdate(self, new: DeliveredEnvelope) -> None:
        """Drop the older copies of redelivered messages, whose leases are over.

        The caller checks that the consumer has leases. Without leases, no message is redelivered in the same
        epoch, and an equal number belongs to another message.
        """
        numbers = {number for number, tries in zip(new.numbers(), new.tries, strict=True) if tries}
        for lot in [lot for lot in self.lots if lot.stream == new.stream]:
            for place, number in enumerate(lot.numbers()):
                if number in numbers and lot.states[place] == HERE:
                    lot.states[place] = GONE
            self.update(lot)

    def update(self, lot: DeliveredEnvelope) -> None:
        """Keep or drop an envelope, after messages of it were settled, lost, or may be settled again."""
        if HERE not in lot.states:
            self.lots.pop(lot, None)
        elif not self._is_closed:
            self.lots[lot] = None

    def close(self) -> None:
        """Drop all messages, because the consumer leaves."""
        self._is_closed = True
        self.waiting.clear()
        self.lots.clear()

    # --- epochs -----------------------------------------------------------------------------------------

    def listed(self, settled: list[LotPlace], now: float) -> list[LotPlace]:
        """Return the messages to list in CONSUME: begun ones, `settled` ones, then those that wait."""
        mine = [(x, at) for x in self.lots if x.until > now for at in x.are(HERE, 0, x.begun)]
        waiting = [(x, at) for x in self.waiting if x.until > now for at in x.are(HERE, x.begun, len(x))]
        return fitting(mine, settled, waiting)

    def retag(self, listed: Sequence[LotPlace], void: Collection[int], opening: int, now: float) -> None:
        """Give the `listed` messages their delivery tags 1 to n in a new epoch, and drop all others.

        `void` has the tags of messages that no longer belong to the consumer.
        """
        for lot in dict.fromkeys(lot for lot, _ in listed):
            lot.opening, lot.counts = opening, [0] * len(lot)
            self._renew(lot, now)
        kept: dict[DeliveredEnvelope, None] = {}
        for count, (lot, place) in enumerate(listed, 1):
            lot.counts[place] = count  # type: ignore[index]
            if lot.states[place] == HERE:
                if count in void:
                    lot.states[place] = GONE
                else:
                    kept[lot] = None
        self.lots = kept
        self.waiting = deque(lot for lot in self.waiting if lot in kept and lot.begun < len(lot))

    # --- leases -----------------------------------------------------------------------------------------

    def renew_waiting(self, now: float) -> list[Some]:
        """Renew the leases of messages that are not begun, and return these messages.

        An envelope is dropped when all its messages are begun and its lease is over.
        """
        for lot in [lot for lot in self.lots if lot.until <= now and lot.begun == len(lot)]:
            del self.lots[lot]
        of = [(lot, places) for lot in self.waiting if (places := lot.are(HERE, lot.begun, len(lot)))]
        for lot, _ in of:
            self._renew(lot, now)
        return list[Some](of)

    def _renew(self, lot: DeliveredEnvelope, now: float) -> None:
        lot.since, lot.until = now, now + self._lease / 1000 if self._lease else inf
