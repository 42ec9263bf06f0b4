"""Where does a snapshot line stand? The names of segments, and when one is full."""

import re

import msgspec

from mesh.errors import BadName
from mesh.names import node_name

SECONDS = 10.0  # for which a segment is written,
BYTES = 1024 * 1024  # or until it has so many

_NAME = re.compile(
    r"(?P<node>.+)-(?P<uuid8>[0-9a-f]{8})-(?P<boot>[1-9][0-9]{0,18})-(?P<number>[1-9][0-9]{0,18})\.jsonl"
)
# Spark passes over what begins with "." or "_", and one file with a ":" in its name makes the whole
# directory unreadable for it. Such a character becomes "~" and two hexadecimal digits.
_UNFIT = re.compile(r"^[._]|:")
_ESCAPED = re.compile(r"~([0-9a-f]{2})")


class SegmentName(msgspec.Struct, frozen=True, gc=False):
    """The name of a segment: who wrote it, in which boot, and which of that boot it is, counted from 1."""

    node: str
    uuid8: str  # the first 8 hexadecimal digits of the node's uuid
    boot: int
    number: int

    @classmethod
    def parse(cls, text: str) -> "SegmentName | None":
        """Read what `str()` gave; None for the name of any other file."""
        found = _NAME.fullmatch(text)
        if found is None:
            return None
        node = _ESCAPED.sub(lambda escaped: chr(int(escaped[1], 16)), found["node"])
        name = cls(node, found["uuid8"], int(found["boot"]), int(found["number"]))
        return name if _is_node(node) and str(name) == text else None

    @property
    def run(self) -> str:
        """All segments of one boot share it: the name without its number."""
        return f"{_UNFIT.sub(_escape, self.node)}-{self.uuid8}-{self.boot}"

    @property
    def unfinished(self) -> str:
        """As which it is written; Spark does not see it."""
        return f"_{self}"

    def __str__(self) -> str:
        return f"{self.run}-{self.number}.jsonl"


class Segment(msgspec.Struct, frozen=True, gc=False):
    """A segment on a disk."""

    name: SegmentName
    hour: str  # the directory in which it stands: "date=2026-01-31/hour=09"
    bytes: int

    @property
    def path(self) -> str:
        """Below the directory of the snapshots."""
        return f"{self.hour}/{self.name}"


def hour(ts: str) -> str:
    """The directory, two levels of it, of a segment whose first line is of that time."""
    return f"date={ts[:10]}/hour={ts[11:13]}"


def is_full(size: int, opened: float, now: float) -> bool:
    """Is a segment of `size` bytes, opened at `opened` (s), to be closed?"""
    return size >= BYTES or now - opened >= SECONDS


def _escape(found: re.Match[str]) -> str:
    return f"~{ord(found[0]):02x}"


def _is_node(text: str) -> bool:
    try:
        return bool(node_name(text))
    except BadName:
        return False
