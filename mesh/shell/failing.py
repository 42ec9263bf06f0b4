"""What is said of a core that has failed? Where, over what, and where to read more; the log has all of it."""

from __future__ import annotations

import logging
import traceback

from mesh.errors import CoreFailed, shown

log = logging.getLogger("mesh.node")
HINT = "What was answered is on disk: start it again, and report this, with the traceback in its log."


def failure(error: Exception, doing: str) -> CoreFailed:
    """The error with which the node ends; its traceback is in the log then, a line of it at a time."""
    for part in traceback.format_exception(error):
        for line in part.splitlines():
            log.error("%s", line)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{frame.filename.rpartition('/mesh/')[2]}:{frame.lineno}, in {frame.name}"
    what = (
        f"this node has failed by a mistake of its own: {shown(error)} at {where}, during {doing}. It ends."
    )
    return CoreFailed(what, hint=HINT)
