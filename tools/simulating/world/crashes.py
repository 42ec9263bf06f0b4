"""Where can a process end while it writes to its disk, and in which commits?"""

from __future__ import annotations

from collections.abc import Iterable

from mesh.core.desk.effects import Commit, Fetch
from mesh.core.queues.rows import MOVED, PART
from mesh.operations import Append, Delete, Op, Put
from mesh.queues.lot import read_lot_row

POINTS = ("before the commit", "in the commit", "after the commit", "after the answer")
MET = "peer"  # the table of nodes that were met
# What of a move is written: that it begins, at its source; that it has come, at its target; and its end.
BEGINS, COMES, ENDS = "begins", "comes", "ends"
STAGES = (BEGINS, COMES, ENDS)


def awaited(job: Commit | Fetch) -> bool:
    """Does anybody wait for what it writes? Nobody does for rows of nodes that were met, where they are all
    there is."""
    if isinstance(job, Fetch):
        return False
    is_met_only = bool(job.ops) and all(isinstance(op, Put | Delete) and op.table == MET for op in job.ops)
    return job.token is not None and not is_met_only


class MovesWritten:
    """What the commits of one node, over all its lives, write of moves."""

    def __init__(self) -> None:
        self._going: set[bytes] = set()  # the rows of lots of which something is on its way

    def of(self, jobs: Iterable[Commit | Fetch]) -> set[str]:
        """The stages of moves that these write."""
        return {
            stage for job in jobs if isinstance(job, Commit) and job.ops for stage in self._stages(job.ops)
        }

    def _stages(self, ops: Iterable[Op]) -> Iterable[str]:
        ops = list(ops)
        if any(isinstance(op, Append) for op in ops) and any(_is_of(op, MOVED) for op in ops):
            yield COMES
        for op in ops:
            if isinstance(op, Put | Delete) and _is_of(op, PART) and op.key.partition(b"\0")[2]:
                is_going = isinstance(op, Put) and bool(read_lot_row(op.value).going)
                if is_going and op.key not in self._going:
                    self._going.add(op.key)
                    yield BEGINS
                elif not is_going and op.key in self._going:
                    self._going.discard(op.key)
                    yield ENDS


def _is_of(op: Op, table: str) -> bool:
    return isinstance(op, Put | Delete) and op.table == table
