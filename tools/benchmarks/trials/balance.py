"""The share of a busy master before, during and after its load; one of three masters is kept busy."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tools.benchmarks.loads.figures import percentile
from tools.benchmarks.pages.report import Report, Row
from tools.benchmarks.trials.balance_trial import MASTERS, VICTIM, Get, Trial, try_out

STRATEGIES = ("RoundRobin", "LeastLoaded")
LITTLE, ENOUGH = 15.0, 25.0  # % of gets: most while busy, least after
STRETCH, STEP = 2_000, 100  # gets per share, and between two shares
STEPS = 3 * len(STRATEGIES)


def share(gets: Sequence[Get], node: str) -> float:
    """Return the percentage of the gets that a node answered; 0 without gets."""
    return 100 * sum(get.source == node for get in gets) / len(gets) if gets else 0.0


def stretches(gets: Sequence[Get]) -> Iterator[Sequence[Get]]:
    """Yield overlapping stretches of STRETCH gets, each STEP gets later than the one before."""
    return (gets[at - STRETCH : at] for at in range(STRETCH, len(gets) + 1, STEP))


def settled(gets: Sequence[Get], since: float, fits: Callable[[float], bool]) -> float:
    """Return the seconds from `since` until the victim's share fits for good; 0 if it always fits.

    They end with the last stretch in which the share does not fit.
    """
    wrong = [stretch for stretch in stretches(gets) if not fits(share(stretch, VICTIM))]
    return wrong[-1][-1].at - since if wrong else 0.0


def measured(count: int, advance: Callable[[], None]) -> Report:
    """Measure each strategy with `count` gets for each share."""
    in_turn, by_load = (try_out(strategy, count, advance) for strategy in STRATEGIES)
    return told(in_turn, by_load, count)


def told(in_turn: Trial, by_load: Trial, count: int) -> Report:
    rows = [*_in_turn(in_turn, count), *_by_load(by_load, count)]
    return Report("balance", rows, {trial.strategy: _details(trial, count) for trial in (in_turn, by_load)})


def _in_turn(trial: Trial, count: int) -> list[Row]:
    stages = trial.stages(count)
    off = max(abs(share(gets, name) - 100 / 3) for gets in stages.values() for name in MASTERS)
    note = ", ".join(f"{stage} {share(gets, VICTIM):.1f} %" for stage, gets in stages.items())
    return [
        Row("in turn", off, f"{VICTIM}: {note}", _flaw(trial)),
        Row("in turn, p90", _slow(stages["busy"]), f"it said: {trial.said['busy']}"),
    ]


def _by_load(trial: Trial, count: int) -> list[Row]:
    stages, said = trial.stages(count), trial.said
    felt = settled(trial.between(trial.busy, trial.relieved), trial.busy, lambda share: share < LITTLE)
    back = settled(trial.between(trial.relieved, trial.ended), trial.relieved, lambda share: share > ENOUGH)
    before = f"{share(stages['before'], VICTIM):.1f} % before"
    return [
        Row("busy", share(stages["busy"], VICTIM), before, _flaw(trial)),
        Row("busy, felt", felt, f"by {STRETCH:,} gets in a row"),
        Row("relieved", share(stages["relieved"], VICTIM), f"it said: {said['relieved']}"),
        Row("relieved, felt", back, f"by {STRETCH:,} gets in a row"),
        Row("by load, p90", _slow(stages["busy"]), f"it said: {said['busy']}"),
    ]


def _slow(gets: Sequence[Get]) -> float:
    """Return the ms that 9 of 10 gets do not exceed."""
    return 1000 * percentile([get.taken for get in gets], 0.9)


def _flaw(trial: Trial) -> str:
    failed = [get.source for get in trial.gets if get.source not in MASTERS]
    return f"{len(failed)} gets failed: {', '.join(sorted(set(failed)))}" if failed else ""


def _details(trial: Trial, count: int) -> dict[str, Any]:
    stages = trial.stages(count)
    return {
        "gets": {stage: len(gets) for stage, gets in stages.items()},
        "shares": {stage: {n: share(gets, n) for n in MASTERS} for stage, gets in stages.items()},
        "said": trial.said,
        "by time": [
            [round(stretch[-1].at - trial.busy, 2), share(stretch, VICTIM)]
            for stretch in stretches(trial.gets)
        ],
    }
