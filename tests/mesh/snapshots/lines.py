"""Snapshot lines and segments for tests."""

from mesh.snapshots.line import HistoryLine
from mesh.snapshots.segment import Segment, SegmentName

UUID = bytes.fromhex("1a2b3c4d" + "00" * 12)
UUID8 = "1a2b3c4d"
HOUR = "date=2026-01-31/hour=09"


def line(number: int, *, ts: str = "2026-01-31T09:57:25.000001Z", text: str = "") -> HistoryLine:
    """Return the event with this line number."""
    return HistoryLine(
        kind="event",
        cluster="lab",
        observer="heron",
        observer_uuid=UUID.hex(),
        observer_boot=7,
        line=number,
        ts=ts,
        node="wren",
        event="joined",
        text=text or None,
    )


def segment(
    number: int, *, boot: int = 7, size: int = 100, hour: str = HOUR, node: str = "heron", uuid8: str = UUID8
) -> Segment:
    """Return a segment, by default of the node "heron"."""
    return Segment(SegmentName(node, uuid8, boot, number), hour, size)
