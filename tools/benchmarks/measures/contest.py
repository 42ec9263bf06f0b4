"""The speed of Heronry beside its peers: the same loads on the same machine, in turns."""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from tools.benchmarks.loads.figures import median
from tools.benchmarks.pages.peers_goals import CPU
from tools.benchmarks.pages.report import Report, Row
from tools.benchmarks.peers.cases import CASES, row_of
from tools.benchmarks.peers.ratios import RATIOS
from tools.benchmarks.peers.servers import PLACE, start
from tools.benchmarks.peers.trial import SIDES, Trial, planned, try_out
from tools.benchmarks.peers.who import PEERS
from tools.running.processes import Processes

MISSING = "not installed: run tools/peers"
EVERY = tuple(CASES)


def entries(picked: Collection[str], cases: Collection[str] = EVERY) -> list[tuple[str, list[str]]]:
    """Return each of `cases` with its clients that are picked and installed, which may be none."""
    return [
        (name, [who for who in case.who if who in picked and PEERS[who].is_installed])
        for name, case in CASES.items()
        if name in cases
    ]


def steps(picked: Collection[str], cases: Collection[str] = EVERY) -> int:
    """Return the number of runs per round."""
    return sum(len(names) for _, names in entries(picked, cases))


def in_turns(names: Sequence[str], turn: int) -> Iterator[str]:
    """Yield the names, rotated by `turn`, because the first one finds a rested machine."""
    begin = turn % len(names) if names else 0
    yield from names[begin:]
    yield from names[:begin]


def measured(
    rounds: int,
    messages: int,
    seconds: int,
    picked: Collection[str],
    advance: Callable[[], None],
    cases: Collection[str] = EVERY,
) -> Report:
    """Run each case with each client in all rounds: `messages` of 100 B, or for `seconds` with a schedule."""
    found: list[Trial] = []
    wanted = entries(picked, cases)
    with Processes() as processes:
        names = {PEERS[who].server for _, all_of in wanted for who in all_of}
        servers = {name: start(processes, name) for name in sorted(names)}
        for turn in range(rounds):
            for name, all_of in wanted:
                for who in in_turns(all_of, turn):
                    server = servers[PEERS[who].server]
                    found.append(try_out(processes, server, planned(name, who, turn, messages, seconds)))
                    advance()
    return Report("peers", rows(found, picked, cases), details(found))


def details(found: Sequence[Trial]) -> dict[str, Any]:
    versions = PLACE / "versions.json"
    known = json.loads(versions.read_text()) if versions.exists() else {}
    return {"trials": [asdict(trial) for trial in found], "versions": known}


def rows(found: Sequence[Trial], picked: Collection[str], cases: Collection[str] = EVERY) -> list[Row]:
    """Return a figure for each picked client in each case, then the ratios, then the CPU time of our node."""
    by_row: defaultdict[str, list[Trial]] = defaultdict(list)
    for trial in found:
        by_row[row_of(trial.case, trial.who)].append(trial)
    figures = [
        figure(name, who, by_row[row_of(name, who)])
        for name, case in CASES.items()
        if name in cases
        for who in case.who
        if who in picked
    ]
    ratios = [
        ratio(each.name, *(by_row[name] for name in each.rows))
        for each in RATIOS
        if each.base in picked and each.cases <= set(cases)
    ]
    return figures + ratios + work(by_row[row_of("1-1", "heronry")])


def work(trials: Sequence[Trial]) -> list[Row]:
    """Return a row with the CPU time of our node per message (µs), or none if there are no valid runs."""
    return [Row(CPU, median(trial.cpu["server"] for trial in trials))] if trials and not flaws(trials) else []


def figure(case: str, who: str, trials: Sequence[Trial]) -> Row:
    """Return the median of the rounds with the costs, or the flaw, or that no run was possible."""
    name, call = row_of(case, who), PEERS[who].call
    if not trials:
        return Row(name, 0.0, call, missing=MISSING)
    if flaw := flaws(trials):
        return Row(name, 0.0, call, flaw)
    server, senders, receivers = (median(max(0.0, t.cpu[side]) for t in trials) for side in SIDES)
    note = [call]
    if CASES[case].rate:
        note += [f"p99 {median(t.p99 for t in trials):.2f}, sent late {median(t.late for t in trials):.2f}"]
    note += [f"CPU {server:.2f}, clients {senders:.2f} + {receivers:.2f} µs"]
    note += [f"{median(t.resident for t in trials):.0f} MB"]
    return Row(name, median(t.figure for t in trials), "; ".join(note))


def ratio(name: str, ours: Sequence[Trial], theirs: Sequence[Trial]) -> Row:
    """Return the median of the ratios of each round, so that a slow minute affects both sides.

    Without runs of both sides, or with a flaw, the row has no ratio.
    """
    if not ours or not theirs:
        return Row(name, 0.0, missing=MISSING)
    if flaw := flaws([*ours, *theirs]):
        return Row(name, 0.0, "", flaw)
    found = [a.figure / b.figure for a, b in zip(ours, theirs, strict=True)]
    return Row(name, median(found), f"{min(found):.2f} to {max(found):.2f}")


def flaws(trials: Sequence[Trial]) -> str:
    return "; ".join(f"{trial.who}: {trial.flaw}" for trial in trials if trial.flaw)
