"""The envelopes of a queue that wait on disk only, and the choice of those to read next."""

# Law 1: new envelopes of a priority that has envelopes here, or envelopes being read, are added here too,
#   unless their messages are delayed, moving or possibly delivered.
# Law 2: envelopes are ordered by position, which is also the order of acceptance. An envelope in memory that
#   belongs behind an envelope here was read for a selector. Only a consumer that has searched the disk up to
#   its position receives it early.

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from mesh.features.queues.model.envelopes.paged import PagedEnvelopes
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.expiry import all_void

S = 10**9  # ns
LOTS, LOT_BYTES = 1024, 4 << 20  # limits of one read: envelopes, bytes
VOID = -1  # pseudo-priority of reads of expired envelopes

Wish = tuple[int, tuple[int, ...]]  # priority, positions to read


class DiskIndex:
    """The envelopes of a queue that wait on disk only, by priority."""

    def __init__(self) -> None:
        self.rows: dict[int, bytes] = {}  # by position: stored states of changed envelopes
        self._paged: dict[int, PagedEnvelopes] = {}
        self._loading: dict[int, bool] = {}  # whether the read is still wanted
        self._loading_from: dict[int, int] = {}  # acceptance time of the first envelope read
        self._purged: list[PagedEnvelopes] = []
        self._discarded: list[int] = []  # positions of single discarded envelopes

    def has(self, priority: int) -> bool:
        """Return whether envelopes of this priority wait here or are being read."""
        return bool(self._paged.get(priority)) or priority in self._loading

    def __bool__(self) -> bool:
        return bool(self._paged)

    def __iter__(self) -> Iterator[int]:
        """Iterate over the priorities that have envelopes here."""
        return iter({*self._paged, *self._loading} - {VOID})

    def first_accepted(self, priority: int, after: int = 0) -> float:
        """Return the acceptance time (ns) of the first envelope behind position `after`, or infinity.

        While envelopes of this priority are being read, the first of them counts, whatever its position.
        """
        if priority in self._loading:
            return self._loading_from[priority]
        paged = self._paged.get(priority)
        if not paged:
            return inf
        return next((sent for _, sent in paged.after(after)), inf) if after else paged.oldest

    def after(self, priority: int, position: int) -> Iterator[tuple[int, int, int]]:
        """Return the (position, messages, bytes) of the envelopes behind `position`."""
        paged = self._paged.get(priority)
        return (row for row, _ in paged.after(position)) if paged else iter(())

    @property
    def oldest(self) -> int:
        """The time (ns since 1970) when the oldest envelope was accepted, or 0 if there is none.

        Envelopes that are being read do not count.
        """
        return min((paged.oldest for paged in self._paged.values() if paged), default=0)

    def last(self, priority: int, n: int) -> int:
        """Return the acceptance time (ns) of the envelope `n` places behind the first, or of the last one.

        Return 0 if no envelope of this priority waits here.
        """
        return self._paged[priority].last(n) if priority in self._paged else 0

    def add(self, queued: QueuedEnvelope, expiry: float | None, *, is_back: bool = False) -> None:
        """Add an envelope, and keep its stored state if it has one.

        `expiry` is the expiry of the queue in seconds. If `is_back` is set, the envelope is inserted at its
        place, else at the end.
        """
        self.add_stored(queued.stored, queued.priority, queued.left, expiry, is_back=is_back)
        if row := queued.row():
            self.rows[queued.stored.position] = row

    def add_stored(
        self, stored: StoredEnvelope, priority: int, left: int, expiry: float | None, *, is_back: bool = False
    ) -> None:
        """Add an envelope with `left` messages that are not done; `expiry` and `is_back` are as in `add`."""
        e = stored.envelope
        limit = e.sent + int(expiry * S) if expiry is not None else 0
        paged = self._paged.get(priority)
        if paged is None:
            paged = self._paged[priority] = PagedEnvelopes()
        put = paged.reinsert if is_back else paged.add
        put(stored.position, e.sent, left, stored.size, all_void(e, limit) if limit or e.expires else 0)

    def take_out(self, priority: int, position: int) -> bool:
        """Remove an envelope that will be kept in memory, and return whether it was here."""
        was_here = priority in self._paged and self._paged[priority].take_out(position)
        self._drop_empty()
        return was_here

    def to_load(self, priority: int) -> Wish | None:
        """Start a read of the next envelopes of a priority, and return it.

        Return `None` if a read of this priority is pending, or if no envelopes remain.
        """
        paged = self._paged.get(priority)
        if not paged or priority in self._loading:
            return None
        self._loading[priority] = True
        self._loading_from[priority] = paged.oldest
        return priority, paged.take_positions(LOTS, LOT_BYTES)

    def void_to_load(self, wall: int) -> Wish | None:
        """Start a read of envelopes whose messages have all expired, and return it.

        The caller dead-letters the messages. Envelopes with unexpired messages are left out, because their
        unexpired messages would be delivered before older ones. Return `None` if there are no expired
        envelopes, or if such a read is pending.
        """
        void: list[int] = []
        for paged in self._paged.values() if VOID not in self._loading else ():
            if len(void) < LOTS:
                void += paged.take_void(wall, LOTS)
        if not void:
            return None
        self._drop_empty()
        self._loading[VOID] = True
        return VOID, tuple(void)

    def _drop_empty(self) -> None:
        for priority in [p for p, paged in self._paged.items() if not paged and p not in self._loading]:
            del self._paged[priority]

    def loaded(self, priority: int) -> bool:
        """End a read, and return `False` if a purge has made its envelopes unwanted, else `True`."""
        if not self._paged.get(priority):
            self._paged.pop(priority, None)
        return self._loading.pop(priority)

    def purge(self) -> tuple[int, int]:
        """Discard all envelopes, and return how many messages and bytes they had.

        Envelopes that are being read are not counted; `loaded` reports that they are no longer wanted.
        """
        paged, self._paged = list(self._paged.values()), {}
        self._purged += paged
        self._loading = dict.fromkeys(self._loading, False)
        return sum(each.messages for each in paged), sum(each.bytes for each in paged)

    def discard_first(self, priority: int) -> tuple[int, int]:
        """Discard the first envelope of a priority, and return the number of its messages and bytes.

        Return `(0, 0)` if there is none, or while envelopes of this priority are being read.
        """
        paged = self._paged.get(priority)
        if not paged or priority in self._loading:
            return 0, 0
        messages, size = paged.messages, paged.bytes
        self._discarded += paged.take_positions(1, 1)
        if not paged:
            del self._paged[priority]
        return messages - paged.messages, size - paged.bytes

    def take_purged(self, most: int) -> tuple[int, ...]:
        """Remove and return about `most` positions of discarded envelopes, for deletion from disk."""
        places, self._discarded = tuple(self._discarded), []
        while self._purged and len(places) < most:
            places += self._purged[-1].take_positions(most - len(places), 1 << 62)
            if not self._purged[-1]:
                self._purged.pop()
        return places
