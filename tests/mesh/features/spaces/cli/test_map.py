"""`mesh map` and `mesh counter` with a fake client, and with real nodes."""

from __future__ import annotations

import json
import subprocess
from types import SimpleNamespace
from typing import Any

import pytest

from mesh.cli.main import main
from mesh.features.spaces.client.entry import Entry
from mesh.features.spaces.client.space import MoveReport
from mesh.features.spaces.client.watch import Change
from tests.mesh.cli.fake import Given
from tests.mesh.running import RunningNode, running

Capture = pytest.CaptureFixture[str]


def fake_map(**answers: Any) -> SimpleNamespace:
    return SimpleNamespace(
        **{name: lambda *a, answer=answer, **k: answer for name, answer in answers.items()}
    )


def test_values_are_listed_and_printed_as_text(given: Given, capsys: Capture) -> None:
    entries = [Entry("a", "x\x1b[1m", 7), Entry("b", {"y": 1}, 8), Entry("c", b"\xff", 9)]
    given(map=fake_map(items=entries, get=entries[1]))
    assert main(["map", "ls", "m"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["KEY", "VALUE", "VERSION"]
    assert [row[-1] for row in rows[1:]] == ["7", "8", "9"] and "\x1b" not in "".join(rows[1])
    assert main(["map", "get", "m", "b"]) == 0
    assert capsys.readouterr().out == '{"y": 1}\n'
    assert main(["map", "ls", "m", "--json"]) == 0
    assert [each["value"] for each in json.loads(capsys.readouterr().out)] == ["x\x1b[1m", {"y": 1}, "ff"]


def test_a_missing_value_and_another_version_are_exit_code_1(given: Given, capsys: Capture) -> None:
    given(map=fake_map(get=None, put_if=None, remove=False, items=[]))
    for line, text in (
        ("get m k", "map m has no value for k"),
        ("put m k v --version 3", "k has another version.  To see it:  mesh map get m k --json"),
        ("rm m k", ""),
        ("ls m", ""),
    ):
        assert main(["map", *line.split()]) == 1
        assert text in capsys.readouterr().err


def test_changes_are_printed_one_by_one(given: Given, capsys: Capture) -> None:
    changes = iter([Change("put", "k", 1, 5), Change("removed", "k", None, 6), Change("gap", "", None, 6)])
    given(map=fake_map(watch=SimpleNamespace(next_change=lambda timeout: next(changes, None))))
    assert main(["map", "watch", "m"]) == 0
    assert capsys.readouterr().out == "k 1\nk (removed)\n(gap)\n"


def test_a_map_is_removed_and_moved_only_by_clear_words(given: Given, capsys: Capture) -> None:
    given(map=fake_map(drop=None, move=MoveReport(True), declare="stork"))
    assert main(["map", "rm", "m"]) == 2 and "Name a KEY, or use --all" in capsys.readouterr().err
    assert main(["map", "rm", "m", "k", "--all"]) == 2
    assert main(["map", "rm", "m", "--all"]) == 0
    assert main(["map", "move", "m", "--to", "stork"]) == 0
    assert "the home of map m is stork" in capsys.readouterr().err
    assert main(["map", "create", "m", "--voter", "a", "--voter", "b"]) == 0


def test_a_counter_is_removed_or_its_group_with_all_counters(given: Given, capsys: Capture) -> None:
    given(counter=fake_map(remove=False, drop_group=None))
    assert main(["counter", "rm"]) == 2 and "Name a COUNTER, or use --all" in capsys.readouterr().err
    assert main(["counter", "rm", "orders", "--all"]) == 2
    assert main(["counter", "rm", "orders"]) == 1
    assert main(["counter", "rm", "--all", "--group", "g"]) == 0
    given(counter=fake_map(remove=True))
    assert main(["counter", "rm", "orders"]) == 0


def test_a_forced_move_first_counts_the_copies(given: Given, capsys: Capture) -> None:
    given(
        map=fake_map(move=MoveReport(False, 2, 90.0, 12.0)), counter=fake_map(move=MoveReport(True, 1, 5, 5))
    )
    assert main(["map", "move", "m", "--to", "stork", "--force", "--stopped", "heron"]) == 1
    assert "stork begins with 2 copies, 12 to 90 s old" in (err := capsys.readouterr().err)
    assert "add --accept-loss" in err
    assert main(["counter", "move", "--to", "stork", "--force", "--accept-loss"]) == 0
    assert "the home of the counters of group default is stork" in capsys.readouterr().err


def at(node: RunningNode, *line: str) -> subprocess.CompletedProcess[str]:
    return node.mesh(*line, "--url", node.name)


@pytest.mark.slow
def test_a_running_node_has_maps_and_counters() -> None:
    with running("a") as a, running("b", beside=a) as b:
        assert at(a, "map", "ls").returncode == 1
        assert at(b, "map", "create", "prices", "--home", "b", "--max-keys", "2").returncode == 0
        version = at(a, "map", "put", "prices", "apple", "0.5").stdout.strip()
        assert at(b, "map", "get", "prices", "apple").stdout == "0.5\n"
        assert at(a, "map", "put", "prices", "apple", "0.6", "--version", "1").returncode == 1
        assert at(a, "map", "put", "prices", "apple", "0.6", "--version", version).returncode == 0
        assert at(a, "map", "ls").stdout.splitlines()[1].split()[:5] == ["prices", "b", "1", "of", "2"]
        assert at(a, "map", "watch", "prices", "--count", "1").stdout == "apple 0.6\n"
        assert at(a, "map", "rm", "prices", "apple").returncode == 0
        assert at(a, "counter", "add", "orders", "5").stdout == "5\n"
        assert at(b, "counter", "add", "orders", "-7").stdout == "-2\n"
        assert at(b, "counter", "get", "orders").stdout == "-2\n"
        assert at(a, "counter", "ls").stdout.split() == ["COUNTER", "VALUE", "orders", "-2"]
        a.kill()
        a.start()
        assert at(a, "counter", "get", "orders").stdout == "-2\n"
