"""Where can a process end while it writes to its disk, and in which commits?"""

from __future__ import annotations

from mesh.core.desk.effects import Commit, Fetch
from mesh.operations import Delete, Put

POINTS = ("before the commit", "in the commit", "after the commit", "after the answer")
MET = "peer"  # the table of nodes that were met


def awaited(job: Commit | Fetch) -> bool:
    """Does anybody wait for what it writes? Nobody does for rows of nodes that were met, where they are all
    there is."""
    if isinstance(job, Fetch):
        return False
    is_met_only = bool(job.ops) and all(isinstance(op, Put | Delete) and op.table == MET for op in job.ops)
    return job.token is not None and not is_met_only
