"""The events that a node has recorded since a moment."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from mesh.local.past import events
from mesh.snapshots.line import HistoryLine
from mesh.snapshots.moment import iso

UUID = "ab" * 16
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def write(
    place: Path, at: datetime, text: str, name: str = "heron-abababab-1-1.jsonl", **more: object
) -> None:
    folder = place / f"date={at:%Y-%m-%d}" / f"hour={at:%H}"
    folder.mkdir(parents=True, exist_ok=True)
    line = HistoryLine(
        kind="event", cluster="c", observer="heron", observer_uuid=UUID, observer_boot=1, line=1,
        ts=iso(int(at.timestamp()) * 10**9), node="swift", event="joined", text=text,
    )  # fmt: skip
    line = msgspec.structs.replace(line, **more)
    with (folder / name).open("ab") as file:
        file.write(msgspec.json.encode(line) + b"\n")


def told(place: Path, since: datetime) -> list[str | None]:
    return [line.text for line in events(place, UUID, since)]


def test_only_what_is_not_older_is_told_in_its_order_over_starts(tmp_path: Path) -> None:
    write(tmp_path, NOON - timedelta(hours=5), "long ago")
    write(tmp_path, NOON - timedelta(seconds=1), "before", "heron-abababab-1-2.jsonl")
    write(tmp_path, NOON, "at noon", "heron-abababab-1-10.jsonl")
    write(tmp_path, NOON + timedelta(minutes=5), "of the next start", "heron-abababab-2-1.jsonl")
    write(tmp_path, NOON + timedelta(hours=30), "tomorrow", "_heron-abababab-3-1.jsonl")
    assert told(tmp_path, NOON) == ["at noon", "of the next start", "tomorrow"]
    assert len(told(tmp_path, NOON - timedelta(days=9))) == 5


def test_others_lines_and_other_nodes_and_halves_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, NOON, "state", kind="state")
    write(tmp_path, NOON, "another's", "other-cdcdcdcd-1-1.jsonl", observer_uuid="cd" * 16)
    write(tmp_path, NOON, "with the same beginning", observer_uuid="ab" * 4 + "cd" * 12)
    write(tmp_path, NOON, "no time", ts="yesterday")
    write(tmp_path, NOON, "mine")
    file = next(tmp_path.glob("*/*/heron*.jsonl"))
    with file.open("ab") as end:
        end.write(b'{"kind":"event","clus\n\xff\xfe\n{"kind":"event"}\n{"kind":"event","ts":"20')
    assert told(tmp_path, NOON) == ["mine"]


def test_where_nothing_is_nothing_is_told(tmp_path: Path) -> None:
    assert told(tmp_path / "nowhere", NOON) == []


def test_since_the_first_year_is_since_the_beginning(tmp_path: Path) -> None:
    write(tmp_path, datetime(1970, 1, 1, tzinfo=UTC), "before the clock was set")
    write(tmp_path, NOON, "at noon", "heron-abababab-1-2.jsonl")
    assert told(tmp_path, datetime.min.replace(tzinfo=UTC)) == ["before the clock was set", "at noon"]
