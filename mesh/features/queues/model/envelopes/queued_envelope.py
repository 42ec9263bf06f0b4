"""An envelope in a queue, with the state of each of its messages."""

# Law 1: a message has one state: ready, out, delayed, moving, held back after a restart, dead, or done. Done
#   is final.
# Law 2: messages are identified by their sequence numbers, as a stored envelope may be cut.

from __future__ import annotations

from array import array
from itertools import chain
from math import inf

from mesh.features.queues.model.envelopes.counts import Runs, count, first_of, numbers_of
from mesh.features.queues.model.envelopes.envelope_row import (
    MOST_TRIES,
    PERHAPS,
    Going,
    LateRun,
    late_outside,
    moves_within,
    read_envelope_row,
    told_tries,
)
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.streams.ranges import Ranges
from mesh.values import PRIORITY
from mesh.wire.codec import pack
from mesh.wire.envelope import RESENT, Envelope

OWN = 1_000  # estimated overhead in bytes of an envelope

EnvelopeKey = tuple[int, bytes, int]  # acceptance time, stream, first number


class QueuedEnvelope:
    """An envelope in a queue, with the state of its messages."""

    __slots__ = (
        "came",
        "done",
        "given",
        "going",
        "has_left",
        "has_row",
        "key",
        "late",
        "left",
        "moves",
        "ready",
        "stored",
        "tries",
    )

    def __init__(self, stored: StoredEnvelope) -> None:
        e = stored.envelope
        self.stored = stored
        self.key: EnvelopeKey = (e.sent, e.stream, e.first)
        self.ready = Ranges()
        self.done: Ranges | None = None
        self.tries: dict[int, int] = {}  # as in LotRow
        self.late: list[LateRun] = []  # as in LotRow
        self.going: list[Going] = []
        self.moves = 0
        self.came = -inf  # arrival from another node, if it moved
        self.given: Ranges | None = None  # as in LotRow
        self.left = e.count  # messages that are not done
        self.has_row = False  # whether a row is on disk
        self.has_left = False  # no longer represents the disk copy
        if e.flags & RESENT:  # may have been delivered by another node
            self.may_have_been_given(self.open())

    @property
    def envelope(self) -> Envelope:
        return self.stored.envelope

    @property
    def priority(self) -> int:
        return self.envelope.put[0] if self.envelope.put else PRIORITY

    @property
    def delay(self) -> int:
        """The published delay in ms, counted from acceptance."""
        return self.envelope.put[1] if self.envelope.put else 0

    @property
    def group(self) -> str:
        return self.envelope.put[2] if self.envelope.put else ""

    @property
    def size(self) -> int:
        return self.stored.size

    @property
    def cost(self) -> int:
        """The estimated size in memory in bytes."""
        return self.stored.size + OWN

    @property
    def is_whole(self) -> bool:
        """Whether some messages are not done, and all of them are ready."""
        return self.left > 0 and count(self.ready) == self.left

    def evict(self) -> None:
        """Empty this object: only the copy on disk remains, to be read again."""
        self.left, self.ready, self.has_left = 0, Ranges(), True

    # --- states of messages -----------------------------------------------------------------------------

    def open(self) -> Runs:
        """Return the messages that are not done."""
        runs, done = self.envelope.ranges(), self.done
        return runs if done is None else [run for each in runs for run in done.missing(*each)]

    def at_hand(self) -> Runs:
        """Return the messages that are neither done, delayed nor moving."""
        runs = self.open()
        if not (self.late or self.going):
            return runs
        here = Ranges()
        here.add_all(runs)
        for first, last, _, _ in self.late:
            here.remove(first, last)
        for going, _, _ in self.going:
            here.remove_all(going)
        return list(here)

    def first_ready(self, n: int) -> Runs:
        return first_of(list(self.ready), n)

    def take_ready(self, n: int) -> Runs:
        taken = list(self.ready)
        if n >= count(taken):
            self.ready = Ranges()
            return taken
        return self.take_out(first_of(taken, n))

    def record_given(self, runs: Runs) -> None:
        """Record that a consumer has `runs`, to be stored in the row."""
        self.given = self.given or Ranges()
        self.given.add_all(runs)

    def returned(self, runs: Runs) -> bool:
        """Record that no consumer has `runs`, and return whether the row may have changed."""
        if self.given is None:
            return False
        self.given.remove_all(runs)
        self.given = self.given or None
        return True

    def with_somebody(self, runs: Runs) -> Runs:
        """Return the messages among `runs` that a consumer may have after a restart.

        Without a record of deliveries, these are all of `runs`.
        """
        given = self.given
        return runs if given is None else [each for run in runs for each in given.common(*run)]

    def take_out(self, runs: Runs) -> Runs:
        """Remove `runs` from the ready messages, and return the messages that were ready."""
        return self.ready.remove_all(runs)

    def add_ready(self, runs: Runs) -> None:
        self.ready.add_all(runs)

    def mark_done(self, runs: Runs) -> int:
        """Mark `runs` as done, and return their count."""
        if self.done is None:
            self.done = Ranges()
        n = count(runs)
        self.left -= n
        if self.left:
            self.done.add_all(runs)
        else:
            self.done = Ranges()
            self.done.add_all(self.envelope.ranges())
        for number in numbers_of(runs) if self.tries else ():
            self.tries.pop(number, None)
        return n

    def tried(self, runs: Runs) -> None:
        """Count a failed delivery of each message in `runs`."""
        for number in numbers_of(runs):
            if self.failures(number) < MOST_TRIES:
                self.tries[number] = self.tries.get(number, 0) + 1

    def failures(self, number: int) -> int:
        return self.tries.get(number, 0) % PERHAPS

    def may_have_been_given(self, runs: Runs) -> None:
        """Mark `runs` as possibly redelivered, except messages that already have a delivery count."""
        for number in numbers_of(runs):
            self.tries.setdefault(number, PERHAPS)

    def column(self, runs: Runs, most: int = MOST_TRIES + 1) -> bytes:
        """Return the delivery counts of `runs` for a consumer, a byte each, or empty if all are 0.

        `most` is the number of attempts that the queue allows.
        """
        if not self.tries:
            return b""
        told = {n: told_tries(tries, most) for n, tries in self.tries.items()}
        tries = bytes([told.get(n, 0) for n in numbers_of(runs)])
        return tries if any(tries) else b""

    def exact(self, runs: Runs) -> bytes:
        """Return the exact delivery counts of `runs`, two bytes each, for another node.

        The result is empty if all counts are 0.
        """
        if not self.tries:
            return b""
        tries = array("H", [self.tries.get(n, 0) for n in numbers_of(runs)])
        return tries.tobytes() if any(tries) else b""

    def indices(self, runs: Runs) -> tuple[int, ...] | None:
        """Return the indices of `runs` in the envelope, or `None` if they are the whole envelope."""
        e = self.envelope
        if runs == e.ranges():
            return None
        if not e.numbers:
            return tuple([n - e.first for n in numbers_of(runs)])
        place = {number: i for i, number in enumerate(numbers_of(e.ranges()))}
        return tuple([place[n] for n in numbers_of(runs)])

    def delay_messages(self, first: int, last: int, said: int, delay: int) -> None:
        """Delay the messages `first` to `last` by `delay` ns from the time `said` (ns since 1970)."""
        self.late = [*late_outside(self.late, first, last), (first, last, said, delay)]

    def wait_no_more(self, first: int, last: int) -> None:
        self.late = list(late_outside(self.late, first, last))

    def start_transfer(self, runs: Runs, node: bytes, number: int) -> None:
        """Mark `runs` as moving to `node` under `number`."""
        self.going.append((runs, node, number))

    def go_no_more(self, node: bytes, number: int) -> Runs:
        """End the move to `node` under `number`, and return its messages."""
        gone = [runs for runs, *way in self.going if way == [node, number]]
        self.going = [each for each in self.going if each[1:] != (node, number)]
        return gone[0] if len(gone) == 1 else [*chain.from_iterable(gone)]

    # --- stored row -------------------------------------------------------------------------------------

    def row(self) -> bytes:
        """Return the state as it is stored, or empty bytes if it equals the initial state."""
        if self.done is None and not (self.tries or self.late or self.going or self.moves or self.given):
            return b""
        row: list[object] = [self.done.pack() if self.done is not None else b"", self.tries, self.late]
        if self.going or self.moves or self.given is not None:
            going = [([*chain.from_iterable(runs)], node, number) for runs, node, number in self.going]
            row += [going, self.moves]
        return pack(row if self.given is None else [*row, self.given.pack()])

    def restore_state(self, row: bytes) -> None:
        """Restore the state from a stored row. Raises: RemoteError if the row is invalid."""
        self.has_row = True
        stored = read_envelope_row(row)
        for first, last in Ranges.unpack(stored.done):
            for a, b in self.envelope.ranges():
                if first <= b and a <= last:
                    self.mark_done([(max(first, a), min(last, b))])
        mine = Ranges()
        for first, last in self.open():
            mine.add(first, last)
        self.tries = {n: tries for n, tries in stored.tries.items() if n in mine}
        self.late = [late for late in stored.late if mine.covers(late[0], late[1])]
        self.going = moves_within(stored.going, mine)
        self.moves = stored.moves
        if stored.given:
            given = Ranges.unpack(stored.given)
            self.record_given([run for first, last in mine for run in given.common(first, last)])
