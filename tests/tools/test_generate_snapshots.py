"""A generated history is like that of real nodes, and agrees with its own summary."""

import json
import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mesh.snapshots.line import BALANCE, EVENT, KINDS, LINK, QUEUE, SERVICE, STATE, TOPIC, HistoryLine, encode
from tools import generate_snapshots
from tools.generating.blemishes import REASONS
from tools.generating.cast import HOUR, MINUTE, SECOND
from tools.generating.fates import TICK
from tools.generating.history import History, Wish
from tools.generating.wording import moment

TOOLS = Path(__file__).parents[2] / "tools"
SINCE = 1_795_000_000 * SECOND
MINUTES, SEED = 20, 2  # a short history with all ends of boots
NAME = re.compile(
    r"(?P<unfinished>_?)(?P<node>[a-z0-9-]+)-(?P<uuid>[0-9a-f]{8})-(?P<boot>\d+)-(?P<n>\d+)\.jsonl"
)
decode = msgspec.json.Decoder(HistoryLine).decode


class Made:
    """A history with its summary and the content of its files."""

    def __init__(self, place: Path, nodes: int, minutes: int, **more: Any) -> None:
        ticks = minutes * MINUTE // TICK
        wish = Wish(nodes, ticks, SINCE, **{"seed": 7, "place": place, "late": place, **more})
        self.place, history = place, History(wish)
        history.run()
        self.said = history.summary()
        self.files = sorted(place.rglob("*.jsonl"))
        self.closed = [path for path in self.files if not path.name.startswith("_")]
        self.good: list[bytes] = []
        self.lines: list[HistoryLine] = []
        self.bad: list[bytes] = []
        for path in self.closed:
            content = path.read_bytes()
            assert content.endswith(b"\n")
            for line in content[:-1].split(b"\n"):
                self._sort(line)

    def _sort(self, line: bytes) -> None:
        try:
            found = decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            self.bad.append(line)
            return
        if found.kind in KINDS and (found.cpu or 0) <= 100 and re.fullmatch(r"[-0-9T:.]{26}Z", found.ts):
            self.good.append(line)
            self.lines.append(found)
        else:
            self.bad.append(line)

    @cached_property
    def once(self) -> dict[tuple[str, int, int], HistoryLine]:
        return {(line.observer_uuid, line.observer_boot, line.line): line for line in self.lines}

    def of(self, kind: str) -> Iterator[HistoryLine]:
        return (line for line in self.once.values() if line.kind == kind)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("made"), 5, MINUTES, seed=SEED)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("crowd"), 10, 5)


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("short"), 5, 8)


def test_every_good_line_has_the_bytes_that_a_node_would_write(made: Made, crowd: Made) -> None:
    for history in (made, crowd):
        assert all(encode(line) == raw for line, raw in zip(history.lines, history.good, strict=True))
        assert {line.kind for line in history.lines} == set(KINDS)


def test_what_is_there_is_what_the_summary_says(made: Made, crowd: Made) -> None:
    for history in (made, crowd):
        said, once = history.said, history.once
        states = {(line.uuid, line.boot, line.version) for line in history.of(STATE)}
        unique = Counter(line.kind for line in once.values())
        rows = len(once) - unique[STATE] + len(states)
        assert unique == said["unique"]
        assert {**unique, STATE: len(states)} == said["rows"]
        assert said["all_rows"] == rows
        assert said["lines"] == len(history.lines) + len(history.bad)
        assert said["quarantined"] == sum(said["bad"].values()) == len(history.bad)
        assert said["repeated"] == len(history.lines) - rows > 0
        assert said["segments"] == len(history.closed)
        assert said["bytes"] == sum(path.stat().st_size for path in history.closed)


def test_each_boot_counts_from_zero_and_its_last_lines_hold_the_totals(made: Made) -> None:
    last: dict[tuple[str, int, str], HistoryLine] = {}
    for line in sorted(made.of(BALANCE), key=lambda line: line.line):
        before = last.get((line.observer, line.observer_boot, line.node))
        assert before is None or (before.chosen or 0) <= (line.chosen or 0)
        last[line.observer, line.observer_boot, line.node] = line
    said = {
        (boot["observer"], boot["observer_boot"], node): counts
        for boot in made.said["boots"]
        for node, counts in boot["balance"].items()
    }
    found = {
        key: {name: getattr(line, name) for name in ("chosen", "sent", "asked", "answered", "seconds")}
        for key, line in last.items()
    }
    assert found == said and len(said) >= 20
    taken: dict[tuple[str, int, str], list[int]] = {}
    for line in sorted(made.of(TOPIC), key=lambda line: line.line):
        taken[line.observer, line.observer_boot, line.topic or ""] = [line.messages or 0, line.content or 0]
    assert taken == {
        (boot["observer"], boot["observer_boot"], topic): counts
        for boot in made.said["boots"]
        for topic, counts in boot["topics"].items()
    }
    fared: dict[tuple[str, int, str], dict[str, float]] = {}
    for line in sorted(made.of(SERVICE), key=lambda line: line.line):
        fared[line.observer, line.observer_boot, line.node] = {
            name: getattr(line, name) for name in ("requests", "replies", "failed", "lost", "seconds")
        }
    assert len(fared) >= 5 and fared == {
        (boot["observer"], boot["observer_boot"], node): counts
        for boot in made.said["boots"]
        for node, counts in boot["services"].items()
        if counts["requests"]
    }


def test_lines_are_numbered_from_one_without_a_gap_and_time_goes_on(made: Made) -> None:
    numbers = defaultdict(list)
    for uuid, boot, number in made.once:
        numbers[uuid, boot].append(number)
    assert all(sorted(found) == list(range(1, len(found) + 1)) for found in numbers.values())
    assert len(numbers) == len(made.said["boots"])
    steady = [line for line in made.lines if line.observer != "crane"]  # its clock is set meanwhile
    steady.sort(key=lambda line: (line.observer_uuid, line.observer_boot, line.line))
    for one, next in pairwise(steady):
        if (one.observer_uuid, one.observer_boot) == (next.observer_uuid, next.observer_boot):
            assert one.ts <= next.ts


def test_a_boot_begins_with_started_and_a_clean_one_ends_with_stopped(made: Made) -> None:
    hows = {(boot["observer_uuid"], boot["observer_boot"]): boot for boot in made.said["boots"]}
    assert {boot["how"] for boot in hows.values()} == {"stopped", "killed", "silent", "gone"}
    for (uuid, number), boot in hows.items():
        assert made.once[uuid, number, 1].event == "started"
        final = made.once.get((uuid, number, boot["lines"]))
        is_stopped = final is not None and final.event == "stopped" and final.uuid == uuid
        assert is_stopped == (boot["how"] == "stopped")


def test_the_others_say_that_a_node_died_or_left(made: Made) -> None:
    events = {
        (line.event, line.uuid, line.boot) for line in made.of(EVENT) if line.uuid != line.observer_uuid
    }
    ends = [boot for boot in made.said["boots"] if boot["ended"] < moment(SINCE + (MINUTES - 1) * MINUTE)]
    assert {boot["how"] for boot in ends} == {"stopped", "killed", "silent", "gone"}
    for boot in ends:
        word = "left" if boot["how"] == "stopped" else "dead"
        assert (word, boot["observer_uuid"], boot["observer_boot"]) in events


def test_up_to_eight_all_write_down_a_state_and_above_its_owner_and_two_others(
    made: Made, crowd: Made
) -> None:
    for history, most in ((made, 5), (crowd, 3)):
        observers = defaultdict(set)
        for line in history.of(STATE):
            observers[line.uuid, line.boot, line.version].add(line.observer_uuid)
        assert Counter(len(found) for found in observers.values()).most_common(1)[0][0] == most
        assert max(len(found) for found in observers.values()) == most
        assert all(key[0] in found for key, found in observers.items() if len(found) == most)


def test_clocks_are_minutes_and_hours_off_and_one_shows_1970_until_it_is_set(made: Made) -> None:
    days = {path.parent.parent.name for path in made.files}
    assert "date=1970-01-01" in days and len(days) >= 2
    off = {name: machine["clock_ahead"] for name, machine in made.said["machines"].items()}
    assert 120 <= abs(off["stork"]) <= 540 and off["ibis"] > 4 * HOUR / SECOND
    for line in made.of(LINK):
        if line.observer == "heron" and line.node == "ibis":
            assert line.skew == pytest.approx(off["ibis"] - off["heron"], abs=0.1)
    years = [
        line.ts[:4] for line in sorted(made.lines, key=lambda line: line.line) if line.observer == "crane"
    ]
    assert years[0] == "1970" and years[-1] != "1970"


def test_a_segment_lies_in_the_hour_of_its_opening_under_a_name_that_says_whose_it_is(made: Made) -> None:
    hours = Counter(path.name for path in made.files)
    for path in made.files:
        name = NAME.fullmatch(path.name)
        assert name is not None and path.parent.parent.parent == made.place
        content = path.read_bytes().split(b"\n")
        first = decode(content[0])
        assert first.observer == name["node"] and first.observer_uuid.startswith(name["uuid"])
        assert first.observer_boot == int(name["boot"])
        if hours[path.name] == 1:  # copies lie in other hours
            opened = f"{path.parent.parent.name}/{path.parent.name}"
            assert opened <= f"date={first.ts[:10]}/hour={first.ts[11:13]}"
    assert max(hours.values()) == 2


def test_only_a_node_that_never_came_back_leaves_an_unfinished_segment(made: Made) -> None:
    [unfinished] = [path for path in made.files if path.name.startswith("_")]
    assert made.said["unfinished"]["segments"] == 1
    [gone] = [boot for boot in made.said["boots"] if boot["how"] == "gone"]
    assert gone["observer_uuid"].startswith(unfinished.name.split("-")[1])


def test_bad_lines_are_of_every_kind_and_may_be_left_out(made: Made, short: Made, tmp_path: Path) -> None:
    assert set(made.said["bad"]) == set(REASONS)
    assert len(set(made.bad)) == len(made.bad)
    clean = Made(tmp_path, 5, 8, clean=True)
    assert clean.bad == [] and clean.said["bad"] == {}
    assert clean.once == short.once


def test_late_segments_can_be_laid_aside(short: Made, tmp_path: Path) -> None:
    early, late = tmp_path / "early", tmp_path / "late"
    history = Made(early, 5, 8, late=late)
    aside = list(late.rglob("*.jsonl"))
    assert len(aside) == history.said["late"]["segments"] > 1
    assert sum(path.read_bytes().count(b"\n") for path in aside) == history.said["late"]["lines"]
    whole = {path.relative_to(short.place): path.read_bytes() for path in short.files}
    apart = {p.relative_to(place): p.read_bytes() for place in (early, late) for p in place.rglob("*.jsonl")}
    assert apart == whole


@pytest.mark.slow  # for its length
def test_the_same_seed_makes_the_same_bytes_and_another_seed_others(made: Made, tmp_path: Path) -> None:
    again = Made(tmp_path / "again", 5, MINUTES, seed=SEED)
    other = Made(tmp_path / "other", 5, MINUTES, seed=SEED + 1)
    assert [path.read_bytes() for path in again.files] == [path.read_bytes() for path in made.files]
    assert again.said == made.said != other.said


def test_one_queue_grows(made: Made) -> None:
    depths = [
        (line.line, line.depth or 0)
        for line in made.of(QUEUE)
        if line.observer == "heron" and (line.queue or "").endswith("joe-0/session/1")
    ]
    depths.sort()
    assert depths[-1][1] > depths[0][1] + 200


def test_enough_lines_end_a_history_and_all_say_goodbye(tmp_path: Path) -> None:
    history = Made(tmp_path, 12, 60, lines=5_000)
    assert 5_000 <= sum(history.said["unique"].values()) < 5_700  # the last lines of boots come on top
    assert history.said["until"] < moment(SINCE + 20 * MINUTE)
    assert all(boot["how"] in ("stopped", "killed") for boot in history.said["boots"])


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["generate_snapshots", *arguments])
    return generate_snapshots.main()


def test_the_command_prints_what_it_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(
        monkeypatch, "--nodes", "3", "--lines", "2000", "--to", str(tmp_path), "--end", "2026-11-21T10:00:00"
    )
    said = json.loads(capsys.readouterr().out)
    assert code == 0
    assert 2_000 <= sum(said["unique"].values()) < 2_200
    assert "2026-11-21T09:5" <= said["until"] <= "2026-11-21T10:00:00.000000Z"
    assert said["segments"] == len(list(tmp_path.rglob("*.jsonl")))


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--nodes", "0"), "--nodes 0 is not from 1"),
        (("--nodes", "3", "--hours", "-1"), "--hours -1 is not above 0"),
        (("--nodes", "3", "--hours", "nan"), "--hours nan is not above 0"),
        (("--nodes", "3", "--hours", "1", "--lines", "5"), "goes without --hours"),
        (("--nodes", "3", "--end", "noon"), "'noon' is no time"),
    ],
)
def test_a_wrong_argument_is_named(
    arguments: tuple[str, ...],
    word: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(monkeypatch, *arguments, "--to", str(tmp_path / "new"))
    assert ended.value.code == 2 and word in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_what_is_already_there_is_not_mixed_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").touch()
    with pytest.raises(SystemExit):
        run(monkeypatch, "--nodes", "3", "--to", str(tmp_path))
    assert "is not an empty directory" in capsys.readouterr().err


def script(place: Path, python: str) -> subprocess.CompletedProcess[str]:
    """Run the script in a tree with that Python in .venv and a `tools/venv` that leaves a file."""
    bin_ = place / ".venv" / "bin"
    (place / "tools").mkdir(parents=True)
    bin_.mkdir(parents=True)
    for name in ("generate_snapshots", "help.sh"):
        shutil.copy(TOOLS / name, place / "tools" / name)
    for path, text in ((place / "tools/venv", "touch changed"), (bin_ / "python", python)):
        path.write_text(f"#!/bin/sh\ncd {place}; {text}\n")
        path.chmod(0o755)
    command = [str(place / "tools/generate_snapshots"), "--nodes", "1"]
    return subprocess.run(command, capture_output=True, text=True)


def test_an_environment_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    able, unable = script(tmp_path / "a", '[ "$1" = -c ] || echo "$@"'), script(tmp_path / "b", "exit 1")
    assert able.stdout == "-m tools.generate_snapshots --nodes 1\n"
    assert (unable.returncode, "tools/venv mesh" in unable.stderr) == (1, True)
    assert not list(tmp_path.glob("*/changed"))
