"""The unsettled messages of a queue consumer, and when their leases end."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from math import inf

from mesh.client.core.delivered_envelope import GONE, HERE, DeliveredEnvelope, EnvelopePlace, Some, fitting


class ConsumerInbox:
    """The messages of one consumer, from their arrival until they are settled or lost, over all epochs.

    The consumer takes the envelopes of `waiting` from the left, as it begins their messages.
    """

    __slots__ = ("_is_closed", "_lease", "envelopes", "waiting")

    def __init__(self, lease: int) -> None:
        """Set up an empty inbox. `lease` in ms; 0: none."""
        self._lease = lease
        self._is_closed = False
        self.envelopes: dict[DeliveredEnvelope, None] = {}  # with unsettled messages
        self.waiting: deque[DeliveredEnvelope] = deque()  # with messages that are not begun

    def add(self, delivered: DeliveredEnvelope, now: float) -> None:
        """Add an envelope, and start its lease."""
        if self._lease and any(delivered.tries):
            self._outdate(delivered)
        delivered.arrived = now
        delivered.since, delivered.until = now, now + self._lease / 1000 if self._lease else inf
        self.envelopes[delivered] = None
        self.waiting.append(delivered)

    def _outdate(self, new: DeliveredEnvelope) -> None:
        """Drop the older copies of redelivered messages, whose leases are over.

        The caller checks that the consumer has leases. Without leases, no message is redelivered in the same
        epoch, and an equal number belongs to another message.
        """
        numbers = {number for number, tries in zip(new.numbers(), new.tries, strict=True) if tries}
        for delivered in [delivered for delivered in self.envelopes if delivered.stream == new.stream]:
            for place, number in enumerate(delivered.numbers()):
                if number in numbers and delivered.states[place] == HERE:
                    delivered.states[place] = GONE
            self.update(delivered)

    def update(self, delivered: DeliveredEnvelope) -> None:
        """Keep or drop an envelope, after messages of it were settled, lost, or may be settled again."""
        if HERE not in delivered.states:
            self.envelopes.pop(delivered, None)
        elif not self._is_closed:
            self.envelopes[delivered] = None

    def lose_all(self) -> None:
        """Drop all messages, which no longer belong to the consumer."""
        for delivered in self.envelopes:
            delivered.states[:] = bytes(GONE if state == HERE else state for state in delivered.states)
        self.waiting.clear()
        self.envelopes.clear()

    def close(self) -> None:
        """Drop all messages, because the consumer leaves."""
        self._is_closed = True
        self.waiting.clear()
        self.envelopes.clear()

    # --- epochs -----------------------------------------------------------------------------------------

    def listed(self, settled: list[EnvelopePlace], now: float) -> list[EnvelopePlace]:
        """Return the messages to list in CONSUME: begun ones, `settled` ones, then those that wait."""
        mine = [(x, at) for x in self.envelopes if x.until > now for at in x.are(HERE, 0, x.begun)]
        waiting = [(x, at) for x in self.waiting if x.until > now for at in x.are(HERE, x.begun, len(x))]
        return fitting(mine, settled, waiting)

    def retag(self, listed: Sequence[EnvelopePlace], void: Collection[int], opening: int, now: float) -> None:
        """Give the `listed` messages their delivery tags 1 to n in a new epoch, and drop all others.

        `void` has the tags of messages that no longer belong to the consumer.
        """
        for delivered in dict.fromkeys(delivered for delivered, _ in listed):
            delivered.opening, delivered.counts = opening, [0] * len(delivered)
            self._renew(delivered, now)
        kept: dict[DeliveredEnvelope, None] = {}
        for count, (delivered, place) in enumerate(listed, 1):
            delivered.counts[place] = count  # type: ignore[index]
            if delivered.states[place] == HERE:
                if count in void:
                    delivered.states[place] = GONE
                else:
                    kept[delivered] = None
        self.envelopes = kept
        self.waiting = deque(
            delivered for delivered in self.waiting if delivered in kept and delivered.begun < len(delivered)
        )

    # --- leases -----------------------------------------------------------------------------------------

    def renew_waiting(self, now: float) -> list[Some]:
        """Renew the leases of messages that are not begun, and return these messages.

        An envelope is dropped when all its messages are begun and its lease is over.
        """
        for delivered in [
            delivered
            for delivered in self.envelopes
            if delivered.until <= now and delivered.begun == len(delivered)
        ]:
            del self.envelopes[delivered]
        of = [
            (delivered, places)
            for delivered in self.waiting
            if (places := delivered.are(HERE, delivered.begun, len(delivered)))
        ]
        for delivered, _ in of:
            self._renew(delivered, now)
        return list[Some](of)

    def _renew(self, delivered: DeliveredEnvelope, now: float) -> None:
        delivered.since, delivered.until = now, now + self._lease / 1000 if self._lease else inf
