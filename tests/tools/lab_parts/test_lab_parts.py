"""`tools/lab`: its counts, the commands of its page, and runs that leave nothing behind."""

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from mesh.streams.ranges import Ranges
from tests.netlab import require
from tests.pages import ROOT, commands
from tools.lab_parts import ledger, quantities
from tools.lab_parts.__main__ import lab as lab_command
from tools.lab_parts.inside import failing, limited, on_core, on_small_disk, slowed
from tools.lab_parts.ledger import Came, Count, counted
from tools.lab_parts.switch import Rule

PAGE = [command for command in commands(ROOT / "docs" / "lab.md") if command.startswith("tools/lab")]


def came(*numbers: int) -> Came:
    made = Came()
    for number in numbers:
        made.take(number)
    return made


@pytest.mark.parametrize(
    ("answered", "numbers", "count"),
    [
        ([[1, 4]], (1, 2, 3, 4), Count(owed=4)),
        ([[1, 4]], (1, 2, 4), Count(owed=4, lost=1)),
        ([[1, 4]], (1, 2, 2, 3, 4, 1), Count(owed=4, doubled=2)),
        ([[1, 4]], (2, 1, 4, 3), Count(owed=4, disordered=2)),
        ([[1, 2], [5, 5]], (1, 2, 3), Count(owed=3, lost=1)),  # 3 was never answered, and may arrive
        ([], (), Count()),
    ],
)
def test_what_was_answered_is_owed_once_and_in_order(
    answered: ledger.Pairs, numbers: tuple[int, ...], count: Count
) -> None:
    found = counted(answered, came(*numbers).described())
    assert found == count
    assert found.is_clean == (count in (Count(owed=4), Count()))


def test_ranges_are_written_as_pairs_and_read_again(tmp_path: Path) -> None:
    made = Ranges()
    for first, last in ((1, 3), (7, 7), (9, 12)):
        made.add(first, last)
    ledger.write(tmp_path / "book.json", ledger.pairs(made))
    again = ledger.read(tmp_path / "book.json")
    assert again == [[1, 3], [7, 7], [9, 12]] == ledger.pairs(ledger.ranges(again))
    assert ledger.size(again) == 8
    assert ledger.read(tmp_path / "none.json") is None


def test_ten_million_numbers_in_order_are_one_range() -> None:
    made = came(*range(1, 100_001))
    assert made.described() == {"numbers": [[1, 100_000]], "doubled": 0, "disordered": 0}


def test_times_chances_and_hosts_are_read_as_they_are_written() -> None:
    assert [quantities.seconds(text) for text in ("50ms", "0.2s", "2", "500us")] == [0.05, 0.2, 2.0, 0.0005]
    assert [quantities.chance(text) for text in ("5%", "0.05", "0", "100%")] == [0.05, 0.05, 0.0, 1.0]
    assert quantities.hosts("1,23") == [1, 23]


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (quantities.seconds, "fast"),
        (quantities.chance, "200%"),
        (quantities.chance, "x"),
        (quantities.hosts, "1,"),
    ],
)
def test_what_is_none_is_refused(read: object, text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"is no|are no"):
        read(text)  # type: ignore[operator]


def test_a_rule_without_figures_lets_everything_pass_and_a_cut_nothing() -> None:
    assert Rule().fates(random.Random(1)) == [(0.0, False)]
    assert Rule(cut=True).fates(random.Random(1)) == []
    assert len(Rule(duplicate=1.0).fates(random.Random(1))) == 2


def lab(*arguments: str, limit: float = 600) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "tools.lab_parts", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": tempfile.gettempdir()},
        timeout=limit,
    )


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place of its own for the lab by hand, which must be empty in the end."""
    with tempfile.TemporaryDirectory(prefix="mesh-", dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        try:
            yield Path(folder)
        finally:
            lab("down")
        assert list(Path(folder).iterdir()) == []


@pytest.mark.slow
def test_the_lab_by_hand_does_what_its_page_says_and_leaves_nothing(place: Path) -> None:
    require()
    built = set[str]()
    for command in PAGE:
        if command.split()[1] not in ("soak", "queues", "services", "sites", "week"):
            said = lab(*command.split()[1:])
            assert said.returncode == 0, f"{command}\n{said.stdout}{said.stderr}"
            if command == "tools/lab run 1 mesh ls":
                assert {"n1", "n2", "n3"} <= set(said.stdout.split())
            built.update(json.loads(file.read_text())["name"] for file in place.glob("mesh-lab-*/lab.json"))
    namespaces = [path.name for path in Path("/run/netns").iterdir()]
    assert built and [name for name in namespaces if any(each in name for each in built)] == []


@pytest.mark.slow
def test_a_second_lab_an_unknown_host_and_no_lab_are_refused_with_what_to_do(place: Path) -> None:
    require()
    assert "tools/lab up" in lab("join").stderr
    assert lab("up", "1").returncode == 0
    again = lab("up", "1")
    assert (again.returncode, "tools/lab down" in again.stderr) == (1, True)
    stranger = lab("cut", "2")
    assert (stranger.returncode, "host 2 does not exist" in stranger.stderr) == (2, True)


@pytest.mark.slow
def test_a_short_soak_counts_what_was_answered_and_finds_nothing_wrong() -> None:
    [command] = [command for command in PAGE if " soak" in command]
    said = lab(*command.split()[1:])
    assert said.returncode == 0, said.stderr
    assert "egret" in said.stdout and "row" in said.stdout


@pytest.mark.slow
def test_D10_D28_gateways_of_real_sites_are_killed_and_readers_get_all_once_in_order() -> None:
    require()
    [command] = [command for command in PAGE if " sites" in command]
    said = lab(*command.split()[1:], limit=400)
    assert said.returncode == 0, said.stdout + said.stderr
    assert "tern, 2" in said.stdout and "killed" in said.stdout


@pytest.mark.parametrize("rows", ["4,x", "99", "4,,20"])
def test_rows_that_are_none_are_refused(rows: str) -> None:
    said = CliRunner().invoke(lab_command, ["soak", "--rows", rows])
    assert (said.exit_code, "27" in said.output) == (2, True)


def printed(inside: list[str], program: str) -> str:
    done = subprocess.run(
        [*inside, sys.executable, "-c", program], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_program_inside_limits_has_no_more() -> None:
    found = "import resource as r; print(r.getrlimit(r.RLIMIT_NOFILE), r.getrlimit(r.RLIMIT_AS)[0])"
    assert printed(limited(descriptors=77, memory=1 << 30), found) == f"(77, 77) {1 << 30}"


def test_a_program_on_one_core_has_one() -> None:
    core = max(os.sched_getaffinity(0))
    assert printed(on_core(core), "import os; print(os.sched_getaffinity(0))") == f"{{{core}}}"


def test_a_program_on_a_small_disk_fills_it_and_nobody_else_sees_it(tmp_path: Path) -> None:
    require()
    program = f"""
import errno
try:
    with open({str(tmp_path / "file")!r}, "wb", buffering=0) as file:
        for _ in range(30):
            file.write(bytes(100_000))
except OSError as error:
    print(errno.errorcode[error.errno])
"""
    assert printed(on_small_disk(tmp_path, "2m"), program) == "ENOSPC"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow  # for its length
def test_the_system_calls_of_a_program_fail_or_take_long_when_they_are_told_to(tmp_path: Path) -> None:
    program = f"""
import errno, os, time
file = os.open({str(tmp_path / "file")!r}, os.O_CREAT | os.O_WRONLY)
for _ in range(3):
    start = time.monotonic()
    try:
        os.fsync(file)
        print("long" if time.monotonic() - start > 0.3 else "well")
    except OSError as error:
        print(errno.errorcode[error.errno])
"""
    said = printed(failing(["fsync"], "EIO", "2"), program).split()
    assert [word == "EIO" for word in said] == [False, True, False]  # a busy disk may be slow by itself
    assert printed(slowed(["fsync"], 0.4), program).split() == ["long"] * 3
