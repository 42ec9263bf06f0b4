"""The speed of queues compared with other systems, with the same loads on the same machine, in turns."""

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass

from tools.benchmarks.loads.figures import median
from tools.benchmarks.measures.contest import MISSING, in_turns
from tools.benchmarks.pages.report import Report, Row
from tools.benchmarks.queues.cases import CASES, OURS, THEIRS, Case, ratio_of, row_of
from tools.benchmarks.queues.flow import Outcome, run
from tools.benchmarks.queues.workers import BROKERS, WORKERS, installed
from tools.running.processes import Processes

FLOW = "flow"
Found = dict[tuple[str, str], list[Outcome]]  # by case and worker


@dataclass(frozen=True, slots=True)
class Wanted:
    """The extent of the measurement: rounds, messages per run, and the names of workers and cases."""

    rounds: int
    messages: int
    picked: Collection[str] = tuple(WORKERS)
    cases: Collection[str] = tuple(CASES)

    @property
    def workers(self) -> list[str]:
        return list(installed([name for name in WORKERS if name in self.picked]))

    @property
    def steps(self) -> int:
        return self.rounds * len(self.workers) * len(self.cases)


def measured(wanted: Wanted, advance: Callable[[], None]) -> Report:
    """Run each wanted case with each picked and installed worker in each round."""
    found: Found = defaultdict(list)
    with Processes() as processes:
        names = {WORKERS[who].broker for who in wanted.workers}
        at = {name: start(processes) for name, start in BROKERS.items() if name in names}
        for turn in range(wanted.rounds):
            for number, (name, case) in enumerate(CASES.items()):
                for who in in_turns(wanted.workers, turn) if name in wanted.cases else ():
                    worker = WORKERS[who]
                    queue = f"q-{turn}-{number}-{list(WORKERS).index(who)}"
                    jobs = case.jobs(queue, wanted.messages, worker.slow)
                    found[name, who].append(
                        run(processes, at[worker.broker], worker, jobs, not case.at_a_time)
                    )
                    advance()
    trials = {f"{case}: {who}": [asdict(o) for o in outcomes] for (case, who), outcomes in found.items()}
    return Report("queues", rows(found, wanted), {"trials": trials, "load": os.getloadavg()})


def rows(found: Found, wanted: Wanted) -> list[Row]:
    """Return the figures of each picked worker in each wanted case, then the ratios."""
    cases = [case for name, case in CASES.items() if name in wanted.cases]
    figures = [row for case in cases for row in _figures(case, found, wanted)]
    return figures + [row for case in cases for row in _ratios(case, found, wanted)]


def _figures(case: Case, found: Found, wanted: Wanted) -> Iterator[Row]:
    for what in case.what:
        for who in WORKERS:
            if who in wanted.picked:
                yield _figure(case, what, who, found.get((case.name, who), []))


def _figure(case: Case, what: str, who: str, outcomes: Sequence[Outcome]) -> Row:
    name, note = row_of(case, what, who), WORKERS[who].note
    if not outcomes:
        return Row(name, 0.0, note, missing=MISSING)
    if flaw := _flaw(outcomes):
        return Row(name, 0.0, note, flaw)
    note += f"; CPU {median(o.server for o in outcomes):.1f} µs"
    if again := sum(o.again for o in outcomes):
        note += f"; {again} given again"
    return Row(name, median(_value(case, what, o) for o in outcomes), note)


def _value(case: Case, what: str, outcome: Outcome) -> float:
    return outcome.figures[FLOW if case.at_a_time else what]


def _ratios(case: Case, found: Found, wanted: Wanted) -> Iterator[Row]:
    ours = found.get((case.name, OURS[0]), [])
    for what in case.what:
        for theirs in THEIRS:
            if {OURS[0], theirs} <= set(wanted.picked):
                yield _ratio(case, what, theirs, ours, found.get((case.name, theirs), []))


def _ratio(case: Case, what: str, who: str, ours: Sequence[Outcome], theirs: Sequence[Outcome]) -> Row:
    """Return the median of the ratios of each round, so that a slow minute affects both sides.

    A flaw or missing outcomes replace it.
    """
    name = ratio_of(case, what, who)
    if not ours or not theirs:
        return Row(name, 0.0, missing=MISSING)
    if flaw := _flaw([*ours, *theirs]):
        return Row(name, 0.0, "", flaw)
    found = [_value(case, what, a) / _value(case, what, b) for a, b in zip(ours, theirs, strict=True)]
    return Row(name, median(found), f"{min(found):.2f} to {max(found):.2f}")


def _flaw(outcomes: Sequence[Outcome]) -> str:
    return "; ".join(outcome.flaw for outcome in outcomes if outcome.flaw)
