"""Do random stories keep every promise, are they the same each time, and are planted mistakes found?"""

import json
import os
import subprocess
import sys
from functools import cache
from io import StringIO
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner
from rich.console import Console

from tests.mesh.running import LIMIT, until
from tests.seeds import stories
from tools.simulating.__main__ import Interim, main
from tools.simulating.campaign import ALL, again, tried
from tools.simulating.history import History
from tools.simulating.planted import BUGS, planted
from tools.simulating.planted_search import is_found
from tools.simulating.profiles import PROFILES, SHORT
from tools.simulating.reducer import reduced
from tools.simulating.script import with_steps
from tools.simulating.steps import Step
from tools.simulating.story import told
from tools.simulating.writing import written

WITHIN = 20  # stories find a planted mistake
AMONG = 20  # stories of a kind the shortest is told here; `tools/simulate` tells the long ones
BRIEF = 750  # steps of a story that is told here; `tools/simulate --again` tells all of the file
SEEDS = Path(__file__).parents[2] / "simulated_seeds.txt"
LENGTHS = {once: len(written(once[1], ALL[once[0]]).steps) for once in again(SEEDS)}
ONCE = sorted((once for once in LENGTHS if LENGTHS[once] < BRIEF), key=lambda once: LENGTHS[once])


@cache
def broken(profile: str, seed: int) -> list[str]:
    """The promises that the story of this seed breaks: none, if the product keeps them."""
    return [str(violation) for violation in told(written(seed, ALL[profile])).violations]


@pytest.mark.parametrize("seed", stories([*range(16), *range(100, 104)]))
def test_a_short_story_keeps_every_promise(seed: int) -> None:
    assert broken("short", seed) == []


@pytest.mark.slow
@pytest.mark.parametrize("profile", list(PROFILES))
def test_a_story_of_each_kind_keeps_every_promise(profile: str) -> None:
    seed = min(range(AMONG), key=lambda seed: len(written(seed, PROFILES[profile]).steps))
    assert broken(profile, seed) == []


@pytest.mark.parametrize("line", stories(range(len(ONCE))))
def test_a_story_that_broke_a_promise_once_keeps_them_now(line: int) -> None:
    assert broken(*ONCE[line]) == []


@pytest.mark.parametrize("name", stories(BUGS))
def test_a_planted_mistake_is_found_and_nothing_else_is_wrong(name: str) -> None:
    """A mend elsewhere changes the stories: if that of its own seed is blind now, one of the next sees."""
    bug = BUGS[name]
    seed = next((seed for seed in range(bug.seed, bug.seed + WITHIN) if is_found(bug, seed)), None)
    assert seed is not None
    assert broken(bug.profile, seed) == []


@pytest.mark.slow  # for its length
def test_a_story_told_twice_is_the_same_whatever_python_hashes() -> None:
    code = (
        "from tools.simulating.writing import written; from tools.simulating.profiles import PROFILES, SHORT;"
        "from tools.simulating.story import told; print(told(written(101, SHORT)).history.digest())"
    )
    digests = set()
    for seed in ("1", "2"):
        environ = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        run = subprocess.run(
            [sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=60
        )
        digests.add(run.stdout.strip() or run.stderr)
    assert digests == {told(written(101, SHORT)).history.digest()}


@pytest.mark.slow  # for its length
def test_what_a_failure_does_not_need_is_left_out() -> None:
    bug = BUGS["answer before the commit"]
    script = written(bug.seed, ALL[bug.profile])
    with planted(bug):
        short = reduced(script, bug.invariant, tries=60)
        assert any(v.invariant == bug.invariant for v in told(short).violations)
    assert len(short.steps) < 5 < len(script.steps)
    assert set(short.steps) <= set(script.steps)


@pytest.mark.usefixtures("soon_over")
def test_a_story_without_any_step_is_still_a_mesh_that_meets() -> None:
    outcome = told(with_steps(written(0, SHORT), ()))
    assert outcome.violations == []
    assert {event.text for event in outcome.history.of("end")} >= {"alive", "pending"}


def test_nothing_is_called_healed_and_read_while_a_process_stands_still() -> None:
    script = written(0, SHORT)
    node, end = script.cast.nodes[0], script.seconds
    outcome = told(with_steps(script, (Step(end - 1.0, "pause", (node, 40.0)),)))
    over = next(event.at for event in outcome.history.of("over") if event.text == "pause")
    assert outcome.violations == []
    assert min(event.at for event in outcome.history.of("read")) > over > end + 30.0


@pytest.mark.slow  # for its length
def test_a_story_that_goes_another_way_the_second_time_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = iter("ab")
    monkeypatch.setattr(History, "digest", lambda self: next(digests))
    assert [invariant for invariant, _ in tried(0, "short", twice=True).violations] == ["same"]


@pytest.mark.slow
def test_the_workers_of_a_campaign_that_is_killed_end_with_it() -> None:
    command = [sys.executable, "-m", "tools.simulating", "--seeds", "1000", "--profile", "short"]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environ) as campaign:
        me = psutil.Process(campaign.pid)
        until(lambda: sum("spawn_main" in " ".join(child.cmdline()) for child in me.children()) == 2)
        workers = me.children()
        campaign.kill()
    assert not psutil.wait_procs(workers, LIMIT)[1]


def test_where_there_is_no_terminal_a_line_now_and_then_says_how_far_it_is() -> None:
    for is_terminal, lines in ((False, ["3 stories, 1.0 minutes", "5 stories, 2.5 minutes"]), (True, [])):
        out = StringIO()
        interim = Interim(Console(file=out, force_terminal=is_terminal), 100.0)
        for stories_, now in ((1, 110.0), (2, 159.0), (3, 160.0), (4, 219.0), (5, 250.0), (6, 300.0)):
            interim.hear(f"{stories_} stories", now)
        assert out.getvalue().splitlines() == lines


def test_stories_of_a_file_are_told_again(tmp_path: Path) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text("# profile, seed, and what was wrong.\nshort 3 a thing\nrest 10 another\n")
    assert list(again(file)) == [("short", 3), ("rest", 10)]


@pytest.mark.slow  # for its length
def test_the_command_tells_those_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("short 3 a thing\n")
    result = CliRunner().invoke(main, ["--again", str(tmp_path / "seeds.txt"), "--jobs", "1"])
    assert (result.exit_code, "every promise was kept" in result.output) == (0, True), result.output


@pytest.mark.slow  # for its length
def test_the_command_tells_stories_and_writes_what_came_of_them(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    options = ["--profile", "short", "--seeds", "2", "--jobs", "1", "--json", str(file)]
    result = CliRunner().invoke(main, options)
    assert (result.exit_code, "every promise was kept" in result.output) == (0, True), result.output
    found = json.loads(file.read_text())
    assert (found["stories"], found["failed"]) == (2, [])
    assert found["simulated_hours"] > 0.03
