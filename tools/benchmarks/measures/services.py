"""The speed of requests compared with other systems, with the same loads on the same machine, in turns."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass

from tools.benchmarks.loads.figures import median
from tools.benchmarks.measures.contest import MISSING, in_turns
from tools.benchmarks.pages.report import Report, Row
from tools.benchmarks.peers.servers import Server
from tools.benchmarks.services import registered, skewed
from tools.benchmarks.services.callers import CALLERS
from tools.benchmarks.services.exchange import Outcome, exchanged
from tools.benchmarks.services.questions import (
    BALANCERS,
    PEER_OF,
    QUESTIONS,
    THEIRS,
    grows_of,
    p99_of,
    ratio_of,
    row_of,
    skewed_of,
)
from tools.running.processes import Processes

REQUESTS_BY_SKEWED = 5  # divisor for the requests of a skewed mesh
Found = dict[tuple[str, str], list[Outcome]]  # by case and caller


@dataclass(frozen=True, slots=True)
class Wanted:
    """The extent of the measurement.

    `requests` are those of a run, or `seconds` its length in a case with a schedule. `registrations` are
    those of the mesh with many registrations.
    """

    rounds: int
    requests: int
    seconds: int
    registrations: int
    picked: Collection[str] = tuple(CALLERS)
    cases: Collection[str] = tuple(QUESTIONS)
    balancers: Sequence[str] = BALANCERS

    @property
    def callers(self) -> list[str]:
        return [name for name, who in CALLERS.items() if name in self.picked and who.is_installed]

    @property
    def steps(self) -> int:
        return self.rounds * len(self.callers) * len(self.cases) + len(self.balancers) + 1


def measured(wanted: Wanted, advance: Callable[[], None]) -> Report:
    """Run the wanted cases in each round, then the skewed mesh, then the mesh with many registrations."""
    found = _asked(wanted, advance)
    by_balancer = {
        name: skewed.tried(name, wanted.requests // REQUESTS_BY_SKEWED, advance) for name in wanted.balancers
    }
    many = registered.measured(wanted.registrations)
    advance()
    rows = [
        *figures(found, wanted),
        *ratios(found, wanted),
        *(row for name, outcome in by_balancer.items() for row in shares(name, outcome)),
        *(Row(name, value) for name, value in many.items()),
    ]
    trials = {row_of(*key): [asdict(outcome) for outcome in outcomes] for key, outcomes in found.items()}
    return Report(
        "services", rows, {"trials": trials, "skewed": {n: asdict(o) for n, o in by_balancer.items()}}
    )


def _asked(wanted: Wanted, advance: Callable[[], None]) -> Found:
    found: Found = defaultdict(list)
    with Processes() as processes:
        running = {name: CALLERS[name].start(processes) for name in wanted.callers if not CALLERS[name].fresh}
        for turn in range(wanted.rounds):
            for case in wanted.cases:
                for who in in_turns(wanted.callers, turn):
                    at = running.get(who) or CALLERS[who].start(processes)
                    found[case, who].append(_tried(processes, at, case, who, turn, wanted))
                    advance()
    return found


def _tried(processes: Processes, at: Server, case: str, who: str, turn: int, wanted: Wanted) -> Outcome:
    question, caller = QUESTIONS[case], CALLERS[who]
    name = f"bench/{list(QUESTIONS).index(case)}/{list(CALLERS).index(who)}/{turn}"
    asking = question.asking(name, wanted.requests, wanted.seconds)
    servers = [caller.server(at, asking, number, question.work) for number in range(question.servers)]
    return exchanged(processes, asking, servers, caller.asker(at, asking, question.servers))


# --- rows ---------------------------------------------------------------------------------------------------


def figures(found: Found, wanted: Wanted) -> Iterator[Row]:
    """Yield the figures of each picked caller in each wanted case, and the ratios of 4 servers to 1."""
    for case in wanted.cases:
        for who in CALLERS:
            if who in wanted.picked:
                yield from _figure(case, who, found.get((case, who), []))
    if {"1 server", "4 servers"} <= set(wanted.cases):
        for who in CALLERS:
            if who in wanted.picked:
                yield _of(grows_of(who), found.get(("4 servers", who), []), found.get(("1 server", who), []))


def _figure(case: str, who: str, outcomes: Sequence[Outcome]) -> Iterator[Row]:
    name, is_timed, note = row_of(case, who), bool(QUESTIONS[case].rate), CALLERS[who].note
    if not outcomes:
        yield Row(name, 0.0, note, missing=MISSING)
    elif flaw := _flaw(outcomes):
        yield Row(name, 0.0, note, flaw)
    elif is_timed:
        late = 1e3 * median(o.figures["late"] for o in outcomes)
        yield Row(name, 1e3 * median(o.figures["p50"] for o in outcomes), f"{note}; asked late {late:.2f}")
        yield Row(p99_of(case, who), 1e3 * median(o.figures["p99"] for o in outcomes))
    else:
        half, most = (1e3 * median(o.figures[p] for o in outcomes) for p in ("p50", "p99"))
        note = f"{note}; p50 {half:.2f} ms, p99 {most:.2f}"
        if len(outcomes[-1].served) > 1:
            note += "; shares " + " ".join(
                f"{outcomes[-1].share(n):.0f}" for n in range(len(outcomes[-1].served))
            )
        yield Row(name, median(o.figures["rate"] for o in outcomes), note)


def ratios(found: Found, wanted: Wanted) -> Iterator[Row]:
    """Yield the ratios of ours to peers; a peer without a server is compared with our embedded nodes."""
    for case in wanted.cases:
        for theirs in THEIRS:
            ours = PEER_OF.get(theirs, "heronry")
            if {ours, theirs} <= set(wanted.picked):
                of = "p50" if QUESTIONS[case].rate else "rate"
                yield _of(
                    ratio_of(case, theirs), found.get((case, ours), []), found.get((case, theirs), []), of
                )


def _of(name: str, these: Sequence[Outcome], those: Sequence[Outcome], of: str = "rate") -> Row:
    """Return the median of the ratios of each round, so that a slow minute affects both sides.

    A flaw or missing outcomes replace it.
    """
    if not these or not those:
        return Row(name, 0.0, missing=MISSING)
    if flaw := _flaw([*these, *those]):
        return Row(name, 0.0, "", flaw)
    found = [a.figures[of] / b.figures[of] for a, b in zip(these, those, strict=True)]
    return Row(name, median(found), f"{min(found):.2f} to {max(found):.2f}")


def shares(balancer: str, outcome: Outcome) -> Iterator[Row]:
    """Yield the figures of the skewed mesh, with the share of each server, or the flaw."""
    if outcome.flaw:
        yield Row(skewed_of(balancer, "rate"), 0.0, "", outcome.flaw)
        return
    each = " ".join(f"{outcome.share(number):.1f}" for number in range(len(outcome.served)))
    yield Row(skewed_of(balancer, "rate"), outcome.figures["rate"])
    yield Row(skewed_of(balancer, "p99"), 1e3 * outcome.figures["p99"])
    yield Row(skewed_of(balancer, "share"), outcome.share(len(outcome.served) - 1), f"shares {each}")


def _flaw(outcomes: Sequence[Outcome]) -> str:
    return "; ".join(outcome.flaw for outcome in outcomes if outcome.flaw)
