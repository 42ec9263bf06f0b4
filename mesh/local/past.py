"""Reads the events in a node's snapshots, including those of earlier starts and of a stopped node."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from mesh.local.segmentfiles import find_by_hour
from mesh.snapshots.line import EVENT, HistoryLine

_LINE = msgspec.json.Decoder(HistoryLine)
FIRST = datetime(1970, 1, 1, 1, tzinfo=UTC)  # earliest time, as one hour is subtracted
_MARK = b'"kind":"event"'  # as written; a cheap filter before decoding


def events(place: Path, uuid: str, since: datetime) -> Iterator[HistoryLine]:
    """Yield the events that the node recorded since a time, in order. Raises: OSError.

    Incomplete and invalid lines are ignored.
    """
    first_hour = _hour(since)
    for hour in find_by_hour(place, uuid[:8]):
        found = sorted((*hour.closed, *hour.unfinished), key=lambda each: (each.name.boot, each.name.number))
        for segment in found:
            if segment.hour < first_hour:
                break
            names = (segment.path, f"{segment.hour}/{segment.name.unfinished}")
            yield from _of(place, names, since, uuid)


def _of(place: Path, names: tuple[str, str], since: datetime, uuid: str) -> Iterator[HistoryLine]:
    """Yield the events of one segment, which may be closed or deleted meanwhile."""
    for name in names:
        try:
            content = (place / name).read_bytes()
        except FileNotFoundError:
            continue
        for text in content.splitlines():
            line = _read(text)
            if line is not None and line.observer_uuid == uuid and datetime.fromisoformat(line.ts) >= since:
                yield line
        return


def _read(text: bytes) -> HistoryLine | None:
    if _MARK not in text:
        return None
    try:
        line = _LINE.decode(text)
        datetime.fromisoformat(line.ts)
    except (msgspec.DecodeError, ValueError):
        return None
    return line if line.kind == EVENT else None


def _hour(since: datetime) -> str:
    """Return the directory of the hour before `since`, as clocks may be set back."""
    earlier = max(since.astimezone(UTC), FIRST) - timedelta(hours=1)
    return f"date={earlier:%Y-%m-%d}/hour={earlier:%H}"
