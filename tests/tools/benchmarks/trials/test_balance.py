"""The benchmark of balancers: the gets that it counts, and the times that it takes."""

import signal
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from mesh.config import load as load_config
from mesh.config import rules
from tools.benchmarks.pages.goals import GOALS
from tools.benchmarks.trials import balance_trial
from tools.benchmarks.trials.balance import STRETCH, settled, share, told
from tools.benchmarks.trials.balance_trial import (
    DOMAIN,
    HEARD,
    MASTERS,
    OWN,
    RELIEVED,
    VICTIM,
    Get,
    Trial,
    configuration,
    try_out,
)

OTHER = MASTERS[0]


def gets(*sources: str, since: float = 0.0, every: float = 0.01) -> list[Get]:
    return [Get(since + every * number, 0.002, source) for number, source in enumerate(sources)]


def alternating(count: int, of: int, since: float) -> list[Get]:
    """Return gets of which the victim answers one in `of`."""
    return gets(*(OTHER if n % of else VICTIM for n in range(count)), since=since)


def test_a_share_is_told_in_percent_of_all_gets_failed_ones_too() -> None:
    assert share(gets(VICTIM, OTHER, OTHER, "MASTER_AWAY"), VICTIM) == 25.0
    assert share([], VICTIM) == 0.0


def test_a_share_has_settled_when_the_last_stretch_that_did_not_fit_has_ended() -> None:
    often, seldom = [VICTIM] * STRETCH, [OTHER] * STRETCH
    is_little = lambda share: share < 10  # noqa: E731
    found = gets(*often, *seldom, *seldom, since=50.0)
    # Of the first stretches after the change, 9 in 10 gets are still from the time before.
    assert settled(found, 50.0, is_little) == pytest.approx(0.01 * 1.9 * STRETCH, abs=0.02)
    assert settled(found[STRETCH:], 50.0, is_little) == 0.0
    assert settled(gets(*seldom, *often), 0.0, is_little) == pytest.approx(0.01 * (2 * STRETCH - 1))


def trial(strategy: str, before: int, busy: int, relieved: int) -> Trial:
    """Return a trial in whose stages the victim answers one get in `before`, `busy` and `relieved`."""
    long = 40.0  # s of each stage
    found = Trial(strategy, busy=long, relieved=2 * long, ended=3 * long)
    for number, of in enumerate((before, busy, relieved)):
        found.gets += alternating(int(long / 0.01), of, number * long)
    found.said = dict.fromkeys(("before", "busy", "relieved"), "load 0.50, loop 60 ms late")
    return found


def test_only_gets_count_by_which_a_change_must_have_been_felt() -> None:
    found = trial("LeastLoaded", 3, 10, 3)
    stages = found.stages(100)
    assert {stage: len(of) for stage, of in stages.items()} == dict.fromkeys(stages, 100)
    assert stages["before"][-1].at < found.busy
    assert stages["busy"][0].at == pytest.approx(found.busy + HEARD, abs=0.02)
    assert stages["relieved"][0].at == pytest.approx(found.relieved + RELIEVED, abs=0.02)


def rows(in_turn: Sequence[int], by_load: Sequence[int]) -> dict[str, tuple[float, bool]]:
    report = told(trial("RoundRobin", *in_turn), trial("LeastLoaded", *by_load), 1_000)
    assert report.is_clean and all(row.name in GOALS for row in report.rows)
    return {row.name: (row.measured, row.is_good) for row in report.rows}


def test_a_busy_master_that_is_asked_less_and_then_again_is_good() -> None:
    found = rows((2, 2, 2), (3, 10, 3))
    off, is_in_turn = found["in turn"]
    assert off == pytest.approx(100 / 3) and not is_in_turn  # one of the three is never asked
    assert found["busy"] == (10.0, True)
    assert 33 < found["relieved"][0] < 34 and found["relieved"][1]
    assert found["busy, felt"][1] and found["relieved, felt"][1]


def test_one_that_is_asked_as_before_or_never_again_is_not() -> None:
    found = rows((3, 3, 3), (3, 3, 10))
    assert not any(found[name][1] for name in ("busy", "busy, felt", "relieved", "relieved, felt"))


def test_a_get_that_failed_leaves_no_result() -> None:
    failed = trial("LeastLoaded", 3, 10, 3)
    failed.gets += gets("MASTER_AWAY", since=1.0)
    report = told(trial("RoundRobin", 3, 3, 3), failed, 1_000)
    assert not report.is_clean
    assert [row.flaw for row in report.rows if row.flaw] == ["1 gets failed: MASTER_AWAY"]


def test_all_three_are_masters_of_what_is_asked_for_and_only_one_of_what_keeps_it_busy(
    tmp_path: Path,
) -> None:
    path = tmp_path / "mesh.toml"
    path.write_text(configuration("LeastLoaded"))
    config = load_config(path, {}, {})
    assert config.balancing.strategy == "LeastLoaded"
    masters = {rule.node: rule.domains for rule in rules(config)}
    assert masters == {name: (DOMAIN, OWN) if name == VICTIM else (DOMAIN,) for name in MASTERS}


@pytest.fixture
def signals() -> Iterator[None]:
    """Restore the signal handlers, which a benchmark that starts programs replaces."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.slow
def test_every_get_is_answered_before_while_and_after_one_is_busy(
    signals: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"TOPICS": 200, "HEARD": 0.5, "RELIEVED": 0.5, "IDLE": 1.1}.items():
        monkeypatch.setattr(balance_trial, name, value)
    stages = []
    with tempfile.TemporaryDirectory(prefix="b-", dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        found = try_out("RoundRobin", 300, lambda: stages.append(1))
        assert list(Path(folder).iterdir()) == []
    assert len(stages) == 3 and set(found.said) == {"before", "busy", "relieved"}
    assert {get.source for get in found.gets} == set(MASTERS)
    for of in found.stages(300).values():
        assert len(of) > 200
        assert all(31 < share(of, name) < 36 for name in MASTERS)
