"""One envelope in a queue: which of its messages are ready, and which are done?"""

# Law 1: a message is in one state: ready, out, delayed, or done. Done is final.
# Law 2: messages are named by their numbers in their stream, since what is stored of an envelope may be cut.

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import chain
from math import inf
from typing import Annotated

import msgspec
from msgspec import Meta

from mesh.queues.lots.counts import Runs, count, first_of, numbers_of
from mesh.routing.parcel import Parcel
from mesh.streams.ranges import Ranges
from mesh.wire.codec import pack, reader
from mesh.wire.envelope import RESENT, Envelope
from mesh.wire.limits import ENVELOPE_MESSAGES

PRIORITY = 5  # of what has none of its own
MOST_TRIES = 255  # that are counted
PERHAPS = 256  # in their number: and one that is not known, and no attempt
MOST_MOVES = 255  # the same
OWN = 1_000  # bytes that a lot costs beside its body, about

LotKey = tuple[int, bytes, int]  # when it was accepted, the stream, and its first number
LateRun = tuple[
    int, int, int, int
]  # first, last, when that was said (ns since 1970), and how many ns it waits
Going = tuple[Runs, bytes, int]  # the uuid of the node where they go, and their number on the way


def told_tries(tries: int, most: int) -> int:
    """Return how often a consumer is told that a message was given before, of what `LotRow.tries` counts.

    A delivery that is not known counts, but not above the `most` attempts that a queue allows: it is none of
    the failures of which a message dies.
    """
    return min(sum(divmod(tries, PERHAPS)), max(1, most - 1), MOST_TRIES)


class LotRow(msgspec.Struct, frozen=True, array_like=True):
    """A row of a lot that was given out before."""

    done: bytes = b""  # ranges of numbers
    # By number: deliveries that failed, and PERHAPS if there may have been one more.
    tries: dict[int, Annotated[int, Meta(ge=1, le=PERHAPS + MOST_TRIES)]] = {}
    late: tuple[LateRun, ...] = ()  # not before their time
    # On their way to other nodes: first, last, ...; and as in Going.
    going: tuple[tuple[tuple[int, ...], bytes, int], ...] = ()
    moves: Annotated[int, Meta(ge=0, le=MOST_MOVES)] = 0  # that it has behind it
    given: bytes = b""  # ranges of numbers: given to somebody who may have them, though no mark says so


read_lot_row = reader(LotRow, 64 * ENVELOPE_MESSAGES)


class Lot:
    """An envelope in a queue."""

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
        "parcel",
        "ready",
        "tries",
    )

    def __init__(self, parcel: Parcel) -> None:
        e = parcel.envelope
        self.parcel = parcel
        self.key: LotKey = (e.sent, e.stream, e.first)
        self.ready = Ranges()
        self.done: Ranges | None = None
        self.tries: dict[int, int] = {}  # as in LotRow
        self.late: list[LateRun] = []  # as in LotRow
        self.going: list[Going] = []
        self.moves = 0
        self.came = -inf  # when it has come here from another node
        self.given: Ranges | None = None  # as in LotRow
        self.left = e.count  # that are not done
        self.has_row = False  # on disk
        self.has_left = False  # the disk, too
        if e.flags & RESENT:  # it may be in another part, and have been given out there
            self.may_have_been_given(self.open())

    @property
    def envelope(self) -> Envelope:
        return self.parcel.envelope

    @property
    def priority(self) -> int:
        return self.envelope.put[0] if self.envelope.put else PRIORITY

    @property
    def delay(self) -> int:
        """ms that it waits after it was accepted."""
        return self.envelope.put[1] if self.envelope.put else 0

    @property
    def group(self) -> str:
        return self.envelope.put[2] if self.envelope.put else ""

    @property
    def size(self) -> int:
        """Bytes of what was put."""
        return self.parcel.size

    @property
    def cost(self) -> int:
        """Bytes that it takes in memory."""
        return self.parcel.size + OWN

    @property
    def is_whole(self) -> bool:
        """Is all that is left of it ready?"""
        return self.left > 0 and count(self.ready) == self.left

    def ends(self) -> None:
        """This is not the lot any more: it waits on the disk alone, to be read again."""
        self.left, self.ready, self.has_left = 0, Ranges(), True

    # --- what becomes of its messages -------------------------------------------------------------------

    def open(self) -> Runs:
        """The messages that are not done."""
        runs, done = self.envelope.ranges(), self.done
        return runs if done is None else [run for each in runs for run in done.missing(*each)]

    def at_hand(self) -> Runs:
        """Of these, those that do not wait for their time, and are not on their way elsewhere."""
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

    def first(self, n: int) -> Runs:
        """The first n messages that are ready."""
        return first_of(list(self.ready), n)

    def take(self, n: int) -> Runs:
        """The same, which are so no more."""
        taken = list(self.ready)
        if n >= count(taken):
            self.ready = Ranges()
            return taken
        return self.take_out(first_of(taken, n))

    def give(self, runs: Runs) -> None:
        """Somebody has these, as its row is to say."""
        self.given = self.given or Ranges()
        self.given.add_all(runs)

    def returned(self, runs: Runs) -> bool:
        """Nobody has these any more. Is that news to its row?"""
        if self.given is None:
            return False
        self.given.remove_all(runs)
        self.given = self.given or None
        return True

    def with_somebody(self, runs: Runs) -> Runs:
        """Those of these messages that somebody may have after a restart."""
        given = self.given
        return runs if given is None else [each for run in runs for each in given.common(*run)]

    def take_out(self, runs: Runs) -> Runs:
        """These are ready no more; returns those that were."""
        return self.ready.remove_all(runs)

    def back(self, runs: Runs) -> None:
        """These are ready again."""
        self.ready.add_all(runs)

    def end(self, runs: Runs) -> int:
        """These are done; returns how many that are."""
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
        """Their delivery has failed once more."""
        for number in numbers_of(runs):
            if self.failures(number) < MOST_TRIES:
                self.tries[number] = self.tries.get(number, 0) + 1

    def failures(self, number: int) -> int:
        """How many of its deliveries have failed?"""
        return self.tries.get(number, 0) % PERHAPS

    def may_have_been_given(self, runs: Runs) -> None:
        """Whoever is given these next is told that it may be for the second time."""
        for number in numbers_of(runs):
            self.tries.setdefault(number, PERHAPS)

    def column(self, runs: Runs, most: int = MOST_TRIES + 1) -> bytes:
        """The tries of these messages as they are told, a byte each; empty: none of them has failed. `most`:
        attempts that their queue allows.
        """
        if not self.tries:
            return b""
        told = {n: told_tries(tries, most) for n, tries in self.tries.items()}
        tries = bytes([told.get(n, 0) for n in numbers_of(runs)])
        return tries if any(tries) else b""

    def exact(self, runs: Runs) -> bytes:
        """The same for another node, two bytes each, so that nothing is lost."""
        if not self.tries:
            return b""
        tries = array("H", [self.tries.get(n, 0) for n in numbers_of(runs)])
        return tries.tobytes() if any(tries) else b""

    def indices(self, runs: Runs) -> tuple[int, ...] | None:
        """Where these messages stand in the envelope; None: they are all of it."""
        e = self.envelope
        if runs == e.ranges():
            return None
        if not e.numbers:
            return tuple([n - e.first for n in numbers_of(runs)])
        place = {number: i for i, number in enumerate(numbers_of(e.ranges()))}
        return tuple([place[n] for n in numbers_of(runs)])

    def wait(self, first: int, last: int, said: int, delay: int) -> None:
        """These wait so many ns from then on."""
        self.late = [*self._late_but(first, last), (first, last, said, delay)]

    def wait_no_more(self, first: int, last: int) -> None:
        """The time of these has come, or they are done."""
        self.late = list(self._late_but(first, last))

    def _late_but(self, first: int, last: int) -> Iterator[LateRun]:
        for a, b, said, delay in self.late:
            if a < first <= b:
                yield a, first - 1, said, delay
            if a <= last < b:
                yield last + 1, b, said, delay
            if b < first or a > last:
                yield a, b, said, delay

    def go(self, runs: Runs, node: bytes, number: int) -> None:
        """These are on their way to that node, under this number."""
        self.going.append((runs, node, number))

    def go_no_more(self, node: bytes, number: int) -> Runs:
        """What became of these is known; returns them."""
        gone = [runs for runs, *way in self.going if way == [node, number]]
        self.going = [each for each in self.going if each[1:] != (node, number)]
        return gone[0] if len(gone) == 1 else [*chain.from_iterable(gone)]

    # --- its row ----------------------------------------------------------------------------------------

    def row(self) -> bytes:
        """What is to be stored of it; empty: nothing has become of it yet."""
        if self.done is None and not (self.tries or self.late or self.going or self.moves or self.given):
            return b""
        row: list[object] = [self.done.pack() if self.done is not None else b"", self.tries, self.late]
        if self.going or self.moves or self.given is not None:
            going = [([*chain.from_iterable(runs)], node, number) for runs, node, number in self.going]
            row += [going, self.moves]
        return pack(row if self.given is None else [*row, self.given.pack()])

    def restore(self, row: bytes) -> None:
        """What its row says. RemoteError for one that cannot be."""
        self.has_row = True
        stored = read_lot_row(row)
        for first, last in Ranges.unpack(stored.done):
            for a, b in self.envelope.ranges():
                if first <= b and a <= last:
                    self.end([(max(first, a), min(last, b))])
        mine = Ranges()
        for first, last in self.open():
            mine.add(first, last)
        self.tries = {n: tries for n, tries in stored.tries.items() if n in mine}
        self.late = [late for late in stored.late if mine.covers(late[0], late[1])]
        self.going = [
            (runs, node, number)
            for flat, node, number in stored.going
            if (runs := [run for run in zip(flat[::2], flat[1::2], strict=False) if mine.covers(*run)])
        ]
        self.moves = stored.moves
        if stored.given:
            given = Ranges.unpack(stored.given)
            self.give([run for first, last in mine for run in given.common(first, last)])
