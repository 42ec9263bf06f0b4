"""Segments of snapshots: their names, and when a segment is full."""

import re

import msgspec

from mesh.errors import BadName
from mesh.names import node_name

SECONDS = 10.0  # duration of a segment
BYTES = 1024 * 1024  # bytes that fill a segment earlier

_NAME = re.compile(
    r"(?P<node>.+)-(?P<uuid8>[0-9a-f]{8})-(?P<boot>[1-9][0-9]{0,18})-(?P<number>[1-9][0-9]{0,18})\.jsonl"
)
# Spark ignores names that begin with "." or "_", and one file with a ":" in its name makes the whole
# directory unreadable for it. Such a character becomes "~" and two hexadecimal digits.
_UNFIT = re.compile(r"^[._]|:")
_ESCAPED = re.compile(r"~([0-9a-f]{2})")


class SegmentName(msgspec.Struct, frozen=True, gc=False):
    """The name of a segment: its node, the boot, and the number within the boot, from 1."""

    node: str
    uuid8: str  # first 8 hex digits of the node's uuid
    boot: int
    number: int

    @classmethod
    def parse(cls, text: str) -> "SegmentName | None":
        """Parse the result of `str()`. Return None for names of other files."""
        found = _NAME.fullmatch(text)
        if found is None:
            return None
        node = _ESCAPED.sub(lambda escaped: chr(int(escaped[1], 16)), found["node"])
        name = cls(node, found["uuid8"], int(found["boot"]), int(found["number"]))
        return name if _is_node(node) and str(name) == text else None

    @property
    def run(self) -> str:
        """The common part of the names of all segments of one boot: the name without its number."""
        return f"{_UNFIT.sub(_escape, self.node)}-{self.uuid8}-{self.boot}"

    @property
    def unfinished(self) -> str:
        """The file name while the segment is written, which Spark ignores."""
        return f"_{self}"

    def __str__(self) -> str:
        return f"{self.run}-{self.number}.jsonl"


class Segment(msgspec.Struct, frozen=True, gc=False):
    """A segment on a disk."""

    name: SegmentName
    hour: str  # its directory: "date=2026-01-31/hour=09"
    bytes: int

    @property
    def path(self) -> str:
        """The path below the directory of the snapshots."""
        return f"{self.hour}/{self.name}"


def hour(ts: str) -> str:
    """Return the directory of a segment, in two levels, from `ts`, the ISO time of its first line."""
    return f"date={ts[:10]}/hour={ts[11:13]}"


def is_full(size: int, opened: float, now: float) -> bool:
    """Return whether to close a segment of `size` bytes that was opened at `opened` (s)."""
    return size >= BYTES or now - opened >= SECONDS


def _escape(found: re.Match[str]) -> str:
    return f"~{ord(found[0]):02x}"


def _is_node(text: str) -> bool:
    try:
        return bool(node_name(text))
    except BadName:
        return False
