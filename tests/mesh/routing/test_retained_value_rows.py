"""The retained value on disk is the newest that was accepted, also if a commit found no space."""

from collections import deque

from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from mesh.operations import Delete, Op, Put
from mesh.routing.log import Log
from mesh.routing.retained_value import RetainedValue
from mesh.routing.store_handle import StoreHandle
from mesh.routing.stream_log import Accepted, StreamLog
from mesh.wire.envelope import ERASED
from tests.mesh.envelopes import envelope

ME = b"m" * 16
TAKE, TRANSIENT, ERASE, LANDS, NO_ROOM, SIDE = "take", "transient", "erase", "lands", "no room", "side"
# A step: what happens, its publisher, and how late the message was sent, which publisher 0 ignores.
STEP = st.tuples(
    st.sampled_from([TAKE, TRANSIENT, ERASE, LANDS, NO_ROOM, SIDE]), st.integers(0, 2), st.integers(0, 5)
)


class Master:
    """A log, and a disk that completes commits in order or has no space for one."""

    def __init__(self) -> None:
        self.log = Log(1000, StoreHandle())
        self.disk: tuple[int, bytes, int] | None = None
        self.taken: list[tuple[int, bytes, int]] = []
        self.answered: list[tuple[int, bytes, int]] = []  # their publishers rely on the disk
        self._riding: list[tuple[int, bytes, int]] = []  # answered after the next commit
        self._has_refused = False
        self._numbers = [0, 0, 0]
        self._clock = 10
        self._commits: deque[tuple[StreamLog, Accepted, list[Op], list[Op]]] = deque()

    def take(self, publisher: int, late: int, what: str) -> None:
        self._clock += 10
        self._numbers[publisher] += 1
        flags = ERASED if what == ERASE else 0
        e = envelope("a", first=self._numbers[publisher], persistent=what != TRANSIENT, flags=flags)
        stream = bytes([publisher]) * 16
        sent = self._clock - (late if publisher else 0) * 15
        e = replace(e, stream=stream, sent=max(sent, self._newest_of(stream) + 1))
        lane = self.log.lane(stream, "", 0.0)
        lane.origin.accept_numbers(e.first, e.last, e.low)
        accepted, ops = self.log.accept_envelope(lane, [(e, [])], 0, ME)
        if ops:
            self._commits.append((lane, accepted, ops, self.log.shelf.take_later()))
        else:
            self.log.passes(accepted)

    def _newest_of(self, stream: bytes) -> int:
        waiting = [(a.values or [a.end])[0].stamp for _, a, _, _ in self._commits]
        return max((stamp[0] for stamp in (*self.taken, *waiting) if stamp[1] == stream), default=0)

    def ends(self, has_room: bool) -> None:
        """Complete the oldest commit, or refuse it for lack of space."""
        if not self._commits:
            return
        lane, accepted, ops, later = self._commits.popleft()
        if has_room:
            self._write([*ops, *later])
            self.log.shelf.written(later)
            self._passes(accepted)
        else:
            self._has_refused = True
            self.log.shelf.not_written(later)
            self.log.refuse_accepted(lane, accepted)

    def _passes(self, accepted: Accepted) -> None:
        rides = self.log.passes(accepted)
        if accepted.erased:
            for stamps in (self.taken, self.answered, self._riding):
                stamps.clear()
        else:
            stamp = accepted.values[0].stamp
            self.taken.append(stamp)
            (self._riding if rides else self.answered).append(stamp)

    def side(self) -> None:
        """Write the pending changes in a commit of their own."""
        if not self._commits:
            later = self.log.shelf.take_later()
            self._write(later)
            self.log.shelf.written(later)

    def _write(self, ops: list[Op]) -> None:
        for op in ops:
            if isinstance(op, Put) and op.table == "retained":
                self.disk = RetainedValue.unpack(op.value).stamp
            elif isinstance(op, Delete) and op.table == "retained":
                self.disk = None
        self.answered += self._riding
        self._riding.clear()

    def act(self, step: tuple[str, int, int]) -> None:
        what, publisher, late = step
        if what in (TAKE, TRANSIENT, ERASE):
            self.take(publisher, late, what)
        elif what == SIDE:
            self.side()
        else:
            self.ends(what == LANDS)
        # On a full disk, an answered change may stay unwritten for longer.
        assert self._has_refused or max(self.answered, default=(0, b"", 0)) <= (self.disk or (0, b"", 0))


@given(st.lists(STEP, max_size=25))
@example(
    [
        (TAKE, 0, 0),
        (LANDS, 0, 0),
        (TAKE, 1, 1),
        (LANDS, 0, 0),
        (TRANSIENT, 2, 0),
        (TAKE, 0, 0),
        (NO_ROOM, 0, 0),
    ]
)
@example([(TAKE, 0, 0), (LANDS, 0, 0), (ERASE, 0, 0), (TAKE, 1, 5), (LANDS, 0, 0), (LANDS, 0, 0)])
@example(
    [(TAKE, 0, 0), (LANDS, 0, 0), (ERASE, 0, 0), (TAKE, 1, 2), (ERASE, 0, 0), (LANDS, 0, 0), (LANDS, 0, 0)]
)
def test_it_is(steps: list[tuple[str, int, int]]) -> None:
    master = Master()
    for step in steps:
        master.act(step)
    while master._commits:
        master.ends(True)
    master.side()
    assert master.disk == max(master.taken, default=None)
