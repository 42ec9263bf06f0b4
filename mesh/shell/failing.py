"""The error of a node whose core failed.

The log has the traceback.
"""

from __future__ import annotations

import logging
import traceback

from mesh.errors import CoreFailed
from mesh.shortening import shown

log = logging.getLogger("mesh.node")
HINT = "Acknowledged messages are on disk. Restart the node, and report this with the traceback in its log."


def failure(error: Exception, doing: str) -> CoreFailed:
    """Return the error with which the node ends, after logging the traceback line by line."""
    for part in traceback.format_exception(error):
        for line in part.splitlines():
            log.error("%s", line)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{frame.filename.rpartition('/mesh/')[2]}:{frame.lineno}, in {frame.name}"
    what = f"The node failed because of a bug: {shown(error)} at {where}, during {doing}. The node stops."
    return CoreFailed(what, hint=HINT)
