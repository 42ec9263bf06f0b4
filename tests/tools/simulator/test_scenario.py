"""Random simulation runs keep every promise, can be repeated, and find planted mistakes."""

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.seeds import scenarios
from tools.simulator.campaign import ALL, again
from tools.simulator.planted import BUGS, planted
from tools.simulator.planted_search import broken_without, is_found
from tools.simulator.profiles import PROFILES, SHORT
from tools.simulator.reducer import reduced
from tools.simulator.scenario import told
from tools.simulator.script import with_steps
from tools.simulator.steps import Step
from tools.simulator.writing import written

WITHIN = 20  # runs that find a planted mistake
AMONG = 20  # the shortest run of so many of a kind; `tools/simulate` runs the long ones
FEW = 8  # the shortest runs of the file; `tools/simulate --again` runs all of them
SEEDS = Path(__file__).parents[2] / "simulated_seeds.txt"
SHARED = Counter((bug.profile, bug.seed) for bug in BUGS.values())
# For each profile, a mistake with the seed that most mistakes share.
MOST = {bug.profile: bug for bug in sorted(BUGS.values(), key=lambda bug: SHARED[bug.profile, bug.seed])}


@cache
def broken(profile: str, seed: int) -> list[str]:
    """Return the promises that the run with this seed violates: none, unless the product is wrong."""
    return [str(violation) for violation in told(written(seed, ALL[profile])).violations]


@pytest.mark.parametrize("seed", scenarios([4, 2, 3]))  # other tests run the other seeds
def test_a_short_scenario_keeps_every_promise(seed: int) -> None:
    assert broken("short", seed) == []


@pytest.mark.slow
@pytest.mark.parametrize("profile", sorted(PROFILES.keys() - MOST.keys()))
def test_a_scenario_of_each_other_kind_keeps_every_promise(profile: str) -> None:
    seed = min(range(AMONG), key=lambda seed: len(written(seed, PROFILES[profile]).steps))
    assert broken(profile, seed) == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_scenarios_that_broke_a_promise_once_keep_them_now() -> None:
    brief = sorted(again(SEEDS), key=lambda once: len(written(once[1], ALL[once[0]]).steps))[:FEW]
    assert len(brief) == FEW
    assert {once: found for once in brief if (found := broken(*once))} == {}


@pytest.mark.parametrize("name", scenarios(BUGS))
def test_a_planted_mistake_is_found(name: str) -> None:
    """A later fix changes the runs: if the mistake's own seed misses it now, one of the next ones finds it.

    `tools/simulate --planted` tries for each mistake that its own seed keeps every promise without it.
    """
    bug = BUGS[name]
    seed = next((seed for seed in range(bug.seed, bug.seed + WITHIN) if is_found(bug, seed)), None)
    assert seed is not None
    assert seed == bug.seed or broken_without(bug, seed) == []


@pytest.mark.slow
@pytest.mark.parametrize("profile", MOST)
def test_without_mistakes_a_scenario_of_their_profile_keeps_every_promise(profile: str) -> None:
    assert broken_without(MOST[profile], MOST[profile].seed) == []


@pytest.mark.slow  # for its length
def test_a_scenario_told_twice_is_the_same_whatever_python_hashes() -> None:
    code = (
        "from tools.simulator.writing import written; from tools.simulator.profiles import PROFILES, SHORT;"
        "from tools.simulator.scenario import told; print(told(written(4, SHORT)).history.digest())"
    )
    digests = set()
    for seed in ("1", "2"):
        environ = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        run = subprocess.run(
            [sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=600
        )
        digests.add(run.stdout.strip() or run.stderr)
    assert digests == {told(written(4, SHORT)).history.digest()}


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
def test_a_scenario_without_any_step_is_still_a_mesh_that_meets() -> None:
    outcome = told(with_steps(written(0, SHORT), ()))
    assert outcome.violations == []
    assert {event.text for event in outcome.history.of("end")} >= {"alive", "pending"}


def test_nothing_is_called_healed_and_read_while_a_process_stands_still() -> None:
    script = replace(written(0, SHORT), seconds=8.0)
    node, end = script.cast.nodes[0], script.seconds
    outcome = told(with_steps(script, (Step(end - 1.0, "pause", (node, 40.0)),)))
    over = next(event.at for event in outcome.history.of("over") if event.text == "pause")
    assert outcome.violations == []
    assert min(event.at for event in outcome.history.of("read")) > over > end + 30.0
