"""The speed of transactions and of shared data beside other systems, on the same machine, in turns."""

import os
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import Any

from tools.benchmarks.loads.figures import median
from tools.benchmarks.loads.runs import said, wait_for
from tools.benchmarks.measures.contest import in_turns
from tools.benchmarks.measures.durable import raw_fsyncs
from tools.benchmarks.operations.cases import CASES, TRANSACTIONS, Case, ratio_of, row_of
from tools.benchmarks.operations.contestants import CONTESTANTS, OURS
from tools.benchmarks.operations.derived import DURATIONS, OUTBOXES, Duration, outbox_of
from tools.benchmarks.operations.servers import SERVERS, has_postgres
from tools.benchmarks.pages.report import Report, Row
from tools.running.processes import Failed, Processes

OUTBOX = "tools.benchmarks.operations.ours_outbox"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The figures of a run; `flaw` says why there are none, or is empty."""

    figures: dict[str, float] = field(default_factory=dict)
    flaw: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """The outcomes of all rounds."""

    runs: defaultdict[tuple[str, str], list[Outcome]] = field(default_factory=lambda: defaultdict(list))
    outboxes: defaultdict[str, list[Outcome]] = field(default_factory=lambda: defaultdict(list))
    fsyncs: list[float] = field(default_factory=list)  # a second, by round


@dataclass(frozen=True, slots=True)
class Wanted:
    """The extent of a measurement.

    A run has at most `count` operations, and takes at most `seconds` without its preparations. `rows` are
    those of an outbox. Contestants that are not in `picked` do not take part. Without `cases`, all of them
    are measured, and the outboxes.
    """

    part: str
    rounds: int
    count: int
    seconds: int
    rows: int
    picked: Collection[str]
    cases: Collection[str] = ()

    @property
    def installed(self) -> list[str]:
        table = CONTESTANTS[self.part]
        return [name for name in table if name in self.picked and not table[name].missing]

    @property
    def chosen(self) -> list[Case]:
        return [case for name, case in CASES[self.part].items() if not self.cases or name in self.cases]

    @property
    def outboxes(self) -> list[str]:
        known = list(OUTBOXES) if self.part == TRANSACTIONS and not self.cases else []
        return [name for name in known if name != "postgresql" or has_postgres()]

    @property
    def steps(self) -> int:
        runs = sum(len(set(case.who) & set(self.installed)) for case in self.chosen)
        return self.rounds * (runs + len(self.outboxes))


def measured(wanted: Wanted, advance: Callable[[], None]) -> Report:
    """Run each wanted case with each installed contestant in each round, then the outboxes."""
    found, table = Found(), CONTESTANTS[wanted.part]
    with ExitStack() as stack, Processes() as processes:
        names = {table[who].server for who in wanted.installed} | set(wanted.outboxes) & {"postgresql"}
        at = {name: start(processes, stack) for name, start in SERVERS.items() if name in names}
        for turn in range(wanted.rounds):
            found.fsyncs.append(raw_fsyncs(processes.place))
            for number, case in enumerate(wanted.chosen):
                for who in in_turns([who for who in wanted.installed if who in case.who], turn):
                    name = f"{wanted.part}-{turn}-{number}-{list(table).index(who)}"
                    load = case.load(name, who, wanted.count, wanted.seconds)
                    command = table[who].command(at[table[who].server], load)
                    found.runs[case.name, who].append(_ran(processes, command))
                    advance()
            for database in wanted.outboxes:
                url = at.get(database, f"sqlite:///{processes.place}/outbox.db")
                command = [sys.executable, "-m", OUTBOX, at["node"], url, str(wanted.rows)]
                found.outboxes[database].append(_ran(processes, command))
                advance()
    return Report(wanted.part, list(rows(found, wanted)), _details(found))


def _details(found: Found) -> dict[str, Any]:
    runs = {f"{case}: {who}": [asdict(o) for o in outcomes] for (case, who), outcomes in found.runs.items()}
    outboxes = {name: [asdict(o) for o in outcomes] for name, outcomes in found.outboxes.items()}
    return {"runs": runs, "outboxes": outboxes, "fsyncs": found.fsyncs, "load": os.getloadavg()}


def _ran(processes: Processes, command: Sequence[str]) -> Outcome:
    """Run a program, and return its figures. A failing program is a flaw, and is killed."""
    program = processes.launch("operations", *command)
    try:
        wait_for(processes, program)
        return Outcome(said(program))
    except Failed as error:
        if not program.ended():
            processes.end([program], signal.SIGKILL)
        return Outcome(flaw=str(error))


# --- rows ---------------------------------------------------------------------------------------------------


def rows(found: Found, wanted: Wanted) -> Iterator[Row]:
    """Yield the figures of each picked contestant in each case, then the ratios, then our own goals."""
    for case in wanted.chosen:
        for who in case.who:
            if who in wanted.picked:
                yield _figure(case, who, found.runs.get((case.name, who), []))
    for case in wanted.chosen:
        for theirs in case.theirs:
            if theirs in wanted.picked:
                yield _ratio(case, theirs, found.runs)
    names = {case.name for case in wanted.chosen}
    for each in DURATIONS:
        is_chosen = all(case in names and who in wanted.picked for case, who in each.cases)
        if each.part == wanted.part and is_chosen:
            yield _duration(each, found)
    for database in OUTBOXES if wanted.part == TRANSACTIONS and not wanted.cases else ():
        yield _outbox(database, found.outboxes.get(database, []))


def _figure(case: Case, who: str, outcomes: Sequence[Outcome]) -> Row:
    name, contestant = row_of(case, who), CONTESTANTS[case.part][who]
    promise = "" if case.what == "get" else f"{contestant.promise}; "
    if not outcomes:
        return Row(name, 0.0, promise, missing=contestant.missing or "not measured")
    if flaw := _flaw(outcomes):
        return Row(name, 0.0, promise, flaw)
    half, most = (1e3 * median(o.figures[p] for o in outcomes) for p in ("p50", "p99"))
    note = f"{promise}p50 {half:.2f} ms, p99 {most:.2f}"
    return Row(name, median(o.figures["rate"] for o in outcomes), note)


def _ratio(case: Case, theirs: str, runs: Mapping[tuple[str, str], list[Outcome]]) -> Row:
    """Return the median of the ratios of each round, so that a slow minute affects both sides."""
    name, contestant = ratio_of(case, theirs), CONTESTANTS[case.part][theirs]
    these, those = runs.get((case.name, OURS), []), runs.get((case.name, theirs), [])
    if not these or not those:
        return Row(name, 0.0, missing=contestant.missing or "not measured")
    if flaw := _flaw([*these, *those]):
        return Row(name, 0.0, "", flaw)
    found = [a.figures["rate"] / b.figures["rate"] for a, b in zip(these, those, strict=True)]
    promise = "" if case.what == "get" else f"; theirs: {contestant.promise}"
    return Row(name, median(found), f"{min(found):.2f} to {max(found):.2f}{promise}")


def _duration(each: Duration, found: Found) -> Row:
    outcomes = [found.runs.get(key, []) for key in each.cases]
    if not all(outcomes):
        return Row(each.name, 0.0, missing="not measured")
    if flaw := _flaw([outcome for some in outcomes for outcome in some]):
        return Row(each.name, 0.0, "", flaw)
    values = [
        each.of([outcome.figures["p50"] for outcome in round_], 1 / fsyncs)
        for *round_, fsyncs in zip(*outcomes, found.fsyncs, strict=True)
    ]
    return Row(each.name, median(values), f"{min(values):.2f} to {max(values):.2f}")


def _outbox(database: str, outcomes: Sequence[Outcome]) -> Row:
    name = outbox_of(database)
    if not outcomes:
        return Row(name, 0.0, missing="not installed: apt-get install postgresql")
    if flaw := _flaw(outcomes):
        return Row(name, 0.0, "", flaw)
    rates = [o.figures["rate"] for o in outcomes]
    return Row(name, median(rates), f"{min(rates):,.0f} to {max(rates):,.0f}; fsync")


def _flaw(outcomes: Sequence[Outcome]) -> str:
    return "; ".join(outcome.flaw for outcome in outcomes if outcome.flaw)
