"""The latency of a mesh with a slow node, with and without learned weights."""

from collections.abc import Callable, Sequence
from typing import Any

from tools.benchmarks.loads.figures import median, percentile
from tools.benchmarks.pages.report import Report, Row
from tools.benchmarks.trials.balance import share
from tools.benchmarks.trials.balance_trial import Get
from tools.benchmarks.trials.weights_trial import MASTERS, SLOW, Phase, Round, try_out

STEPS = 3  # per round
HALF, MOST = 0.5, 0.99


def measured(rounds: int, count: int, advance: Callable[[], None]) -> Report:
    """Run rounds of `count` gets in turn and `count` gets by weights, and report the medians."""
    return told([try_out(count, advance) for _ in range(rounds)])


def told(rounds: Sequence[Round]) -> Report:
    in_turn = [each.in_turn for each in rounds]
    weighted = [each.weighted for each in rounds]
    ratios = [slow(w, MOST) / slow(t, MOST) for t, w in zip(in_turn, weighted, strict=True)]
    weight = median(each.learnt[SLOW]["weight"] for each in rounds)
    reason = rounds[-1].learnt[SLOW]["reason"]
    shares = [[share(phase.gets, SLOW) for phase in phases] for phases in (in_turn, weighted)]
    flaw = next((text for phase in (*in_turn, *weighted) if (text := wrong(phase))), "")
    rows = [
        Row("weights, p99", median(ratios), f"of {len(rounds)} rounds: {_listed(ratios)}", flaw),
        Row("weights, learnt", weight, f"{SLOW}: {reason}"),
    ]
    for name, phases, part in zip(("in turn", "weighted"), (in_turn, weighted), shares, strict=True):
        note = f"{SLOW} answered {median(part):.1f} %"
        rows.append(Row(f"weights, {name}, p99", median(slow(phase, MOST) for phase in phases), note))
        rows.append(Row(f"weights, {name}, p50", median(slow(phase, HALF) for phase in phases)))
    return Report("weights", rows, {"rounds": [_details(each) for each in rounds]})


def slow(phase: Phase, part: float) -> float:
    """Return the ms that `part` (0..1) of the gets did not exceed."""
    return 1000 * percentile([get.taken for get in phase.gets], part)


def wrong(phase: Phase) -> str:
    """Return the reason for no result, or an empty text.

    Reasons are failed gets, and events about the slow node, which should be a member all the time.
    """
    failed = [get.source for get in phase.gets if get.source not in MASTERS]
    if failed:
        return f"{phase.strategy}: {len(failed)} gets failed: {', '.join(sorted(set(failed)))}"
    return f"{phase.strategy}: {'; '.join(phase.doubts)}" if phase.doubts else ""


def _listed(ratios: Sequence[float]) -> str:
    return ", ".join(f"{ratio:.2f}" for ratio in ratios)


def _details(each: Round) -> dict[str, Any]:
    return {
        "learnt": each.learnt,
        **{
            phase.strategy: {
                "gets": len(phase.gets),
                "shares": {name: share(phase.gets, name) for name in MASTERS},
                "p50": slow(phase, HALF),
                "p99": slow(phase, MOST),
                "by node": {name: _of(phase.gets, name) for name in MASTERS},
                "stops": phase.stops,
                "doubts": phase.doubts,
            }
            for phase in (each.in_turn, each.weighted)
        },
    }


def _of(gets: Sequence[Get], name: str) -> list[float]:
    """Return p50 and p99 in ms of the gets that a node answered; [] if none."""
    taken = [get.taken for get in gets if get.source == name]
    return [1000 * percentile(taken, part) for part in (HALF, MOST)] if taken else []
