"""The points at which a process can crash during a commit, and the commits that crashes affect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mesh.features.queues.model.envelopes.envelope_row import EnvelopeRow, read_envelope_row
from mesh.features.queues.node.keeping.settlement_rows import PART
from mesh.kernel.context.effects import Commit, Fetch
from mesh.operations import Append, Delete, Op, Put

POINTS = ("before the commit", "in the commit", "after the commit", "after the answer")
MET = "peer"  # table of nodes that were met
# Stages of a move in a commit: its begin at the source, its arrival at the target, and its end.
BEGINS, COMES, ENDS = "begins", "comes", "ends"
STAGES = (BEGINS, COMES, ENDS)
NOTHING = EnvelopeRow()


def awaited(job: Commit | Fetch) -> bool:
    """Return whether an answer waits for the commit.

    A commit that has only rows of known nodes is not awaited.
    """
    if isinstance(job, Fetch):
        return False
    is_met_only = bool(job.ops) and all(isinstance(op, Put | Delete) and op.table == MET for op in job.ops)
    return job.token is not None and not is_met_only


class MovesWritten:
    """The moves that the commits of one node write, across all of its processes."""

    def __init__(self) -> None:
        self._going: set[bytes] = set()  # rows of envelopes with messages in transit

    def of(self, jobs: Iterable[Commit | Fetch]) -> set[str]:
        """Return the stages of moves that `jobs` write, and remember the moves that begin and end."""
        return {
            stage for job in jobs if isinstance(job, Commit) and job.ops for stage in self._stages(job.ops)
        }

    def _stages(self, ops: Sequence[Op]) -> Iterator[str]:
        new = {op.position.to_bytes(8) for op in ops if isinstance(op, Append)}
        for op in ops:
            if not isinstance(op, Put | Delete) or op.table != PART:
                continue
            place = op.key.partition(b"\0")[2]
            row = read_envelope_row(op.value) if place and isinstance(op, Put) else NOTHING
            if place in new and row.moves:
                yield COMES
            if row.going and op.key not in self._going:
                self._going.add(op.key)
                yield BEGINS
            elif not row.going and op.key in self._going:
                self._going.discard(op.key)
                yield ENDS
