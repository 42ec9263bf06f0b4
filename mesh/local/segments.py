"""Who waits for the disk while snapshots are written, so that the loop need not? A thread of its own."""

import contextlib
import logging
import time
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread

from mesh.errors import MeshTimeout
from mesh.local.segmentwriter import SegmentWriter
from mesh.snapshots.line import HistoryLine
from mesh.snapshots.segment import SegmentName
from mesh.store.room import Tell

WAITING = 10_000  # lines that may wait for the disk
BATCH = 1_000  # lines that are written at once

_log = logging.getLogger(__name__)


class SegmentLog:
    """Writes lines into segments below `place`, and deletes the oldest when they exceed `limit` bytes.

    No failure of the disk comes out of it: lines are lost and counted, and `tell(level, text)` says so,
    once when it begins and once when it is over. It is called from the thread, with a level of `logging`.
    """

    def __init__(self, place: Path, node: str, uuid: bytes, boot: int, limit: int, tell: Tell) -> None:
        self._place = place.absolute()
        first = SegmentName(node, uuid.hex()[:8], boot, 1)
        self._writer = SegmentWriter(self._place, first, limit, _harmless(tell))
        self._lines: SimpleQueue[HistoryLine | None] = SimpleQueue()  # None: no more will come
        self._refused = 0  # lines
        self._closing = False
        # The end of the process does not wait for it: what a hanging disk has not taken is lost.
        self._thread = Thread(target=self._run, name="mesh-snapshots", daemon=True)
        self._thread.start()

    def record(self, line: HistoryLine) -> None:
        """Have it written. Never blocks, never raises: what does not fit, or comes too late, is lost."""
        if self._closing or self._lines.qsize() >= WAITING:
            self._refused += 1
        else:
            self._lines.put(line)

    def counters(self) -> dict[str, int]:
        """Since the start; lines and bytes count when their segment is closed.

        `snapshot_lost`: lines that will never be written. `snapshot_dropped`: segments deleted unread.
        """
        it = self._writer
        return {
            "snapshot_lines": it.lines,
            "snapshot_bytes": it.bytes,
            "snapshot_segments": it.segments,
            "snapshot_lost": self._refused + it.lost,
            "snapshot_dropped": it.keeper.dropped,
        }

    def close(self, timeout: float) -> None:
        """Write what was recorded, and close the last segment; a second time does no harm.

        MeshTimeout when the disk needs longer than `timeout` seconds: the thread goes on, until the
        process ends.
        """
        if not self._closing:
            self._closing = True
            self._lines.put(None)
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise MeshTimeout(
                f"The snapshots in {self._place} are not written within {timeout:g} s: "
                "the disk is slow or hangs.",
                hint="What has come to the disk is recovered at the next start of the node.",
            )

    def _run(self) -> None:
        self._writer.begin(time.monotonic())
        refused, closing = 0, False
        while not closing:
            lines, closing = self._gather()
            now = time.monotonic()
            self._writer.write(lines, now, last=closing)
            self._tell_of_refusals(self._refused - refused, now)
            refused = self._refused

    def _gather(self) -> tuple[list[HistoryLine], bool]:
        """The lines that wait, or come before the segment is to be closed; and whether these are the last."""
        deadline = self._writer.deadline()
        patience = None if deadline is None else max(0.0, deadline - time.monotonic())
        lines: list[HistoryLine] = []
        with contextlib.suppress(Empty):
            line = self._lines.get(timeout=patience)
            while line is not None:
                lines.append(line)
                if len(lines) == BATCH:
                    return lines, False
                line = self._lines.get_nowait()
            return lines, True
        return lines, False

    def _tell_of_refusals(self, count: int, now: float) -> None:
        troubles = self._writer.troubles
        if count:
            text = f"More snapshots come than {self._place} takes; what does not fit is lost."
            troubles.happens("queue", text, now)
        else:
            text = f"All snapshots are taken again. {self._refused:,} were lost since this start."
            troubles.goes_well("queue", text, now)


def _harmless(tell: Tell) -> Tell:
    """A `tell` that fails not even when its node is gone, for which the disk took too long."""

    def told(level: str, text: str) -> None:
        try:
            tell(level, text)
        except Exception as error:
            _log.warning("%s (and nobody could be told: %s)", text, error)

    return told
