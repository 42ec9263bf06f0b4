"""Writes snapshots in a thread of its own, so that the event loop never waits for the disk."""

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

WAITING = 10_000  # lines that may wait
BATCH = 1_000  # lines in one write

_log = logging.getLogger(__name__)


class SegmentLog:
    """Writes lines into segments below `place`, and deletes the oldest above `limit` bytes.

    Disk errors are not raised: lost lines are counted, and `tell(level, text)` reports the beginning and the
    end of a failure. `tell` is called in the writing thread, with a level of `logging`.
    """

    def __init__(self, place: Path, node: str, uuid: bytes, boot: int, limit: int, tell: Tell) -> None:
        self._place = place.absolute()
        first = SegmentName(node, uuid.hex()[:8], boot, 1)
        self._writer = SegmentWriter(self._place, first, limit, _harmless(tell))
        self._lines: SimpleQueue[HistoryLine | None] = SimpleQueue()  # None: the last entry
        self._refused = 0  # lines
        self._closing = False
        # The process does not wait for the thread at its end: a hanging disk loses the rest.
        self._thread = Thread(target=self._run, name="mesh-snapshots", daemon=True)
        self._thread.start()

    def record(self, line: HistoryLine) -> None:
        """Queue a line without blocking or raising. A line over the limit or after `close` is lost."""
        if self._closing or self._lines.qsize() >= WAITING:
            self._refused += 1
        else:
            self._lines.put(line)

    def counters(self) -> dict[str, int]:
        """Return counters since the start; lines and bytes count when their segment is closed.

        `snapshot_lost` counts lines that will never be written, `snapshot_dropped` segments that
        were deleted before they were copied or ingested.
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
        """Write queued lines, and close the last segment. A second call only waits again.

        Raises: MeshTimeout if the disk needs longer than `timeout` seconds. The thread continues until the
        process ends.
        """
        if not self._closing:
            self._closing = True
            self._lines.put(None)
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise MeshTimeout(
                f"The last snapshots in {self._place} were not written within {timeout:g} s: the "
                "disk is slow or hangs.",
                hint="What reached the disk is recovered at the next start of the node.",
            )

    def _run(self) -> None:
        self._writer.recover_segments(time.monotonic())
        refused, closing = 0, False
        while not closing:
            lines, closing = self._gather()
            now = time.monotonic()
            self._writer.write(lines, now, last=closing)
            self._tell_of_refusals(self._refused - refused, now)
            refused = self._refused

    def _gather(self) -> tuple[list[HistoryLine], bool]:
        """Return lines that arrive before the segment must be closed, and whether they are the last ones.

        At most BATCH lines are returned per call.
        """
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
            text = f"Snapshots arrive faster than {self._place} can be written; the excess is lost."
            troubles.happens("queue", text, now)
        else:
            text = f"Snapshots are being written again. {self._refused:,} were lost since this start."
            troubles.goes_well("queue", text, now)


def _harmless(tell: Tell) -> Tell:
    """Return a `tell` that never fails, even after the end of its node."""

    def told(level: str, text: str) -> None:
        try:
            tell(level, text)
        except Exception as error:
            _log.warning("%s (and the event could not be reported: %s)", text, error)

    return told
