"""The speed of messages to another site, and their bytes on the wire, beside NATS and JGroups."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from tools.benchmarks.loads.figures import median
from tools.benchmarks.loads.runs import LIMIT, said, wait_for
from tools.benchmarks.measures.contest import MISSING, in_turns
from tools.benchmarks.pages.report import Report, Row
from tools.benchmarks.sites.bridges import BRIDGES, Bridge, is_installed
from tools.benchmarks.sites.rows import CASES, bytes_of, rate_of, ratio_of
from tools.benchmarks.sites.sending import Sending
from tools.benchmarks.sites.wan import LON, NYC, wan
from tools.lab_parts.netlab import why_not
from tools.running.processes import Failed, Processes


@dataclass(frozen=True, slots=True)
class Relayed:
    """The figures of a run: messages per second, and bytes on the wire per byte of content.

    `flaw` is an error, or empty; figures with a flaw are not reported.
    """

    rate: float = 0.0
    bytes: float = 0.0
    flaw: str = ""


Found = dict[tuple[str, str], list[Relayed]]  # by case and bridge


def measured(rounds: int, messages: int, advance: Callable[[], None]) -> Report:
    """Run each case with each of its installed bridges, in turns.

    Without network namespaces, all rows are missing.
    """
    found: Found = defaultdict(list)
    missing = why_not()
    who = [] if missing else [name for name in BRIDGES if is_installed(name)]
    for turn in range(rounds):
        for case in CASES:
            for name in in_turns([n for n in who if n in CASES[case].who], turn):
                found[case, name].append(_tried(name, case, turn, messages))
                advance()
    return told(found, missing)


def steps(rounds: int) -> int:
    return rounds * sum(len([n for n in case.who if is_installed(n)]) for case in CASES.values())


def _tried(name: str, case: str, turn: int, messages: int) -> Relayed:
    it = CASES[case]
    sending = Sending(f"bench/{turn}", messages, it.size, it.window, it.persistent)
    try:
        with wan() as line, Processes() as processes:
            return _relayed(processes, BRIDGES[name](processes, line), sending)
    except Failed as error:
        return Relayed(flaw=str(error))


def _relayed(processes: Processes, bridge: Bridge, sending: Sending) -> Relayed:
    taker = processes.launch("taker", *bridge.command("take", NYC, sending))
    ready = processes.place / sending.ready
    processes.until(lambda: ready.exists() or taker.ended(), LIMIT, "nobody took them")
    before = bridge.wan.carried()
    sender = processes.launch("sender", *bridge.command("send", LON, sending))
    wait_for(processes, sender, taker)
    carried = bridge.wan.carried() - before
    failed = [program for program in (sender, taker) if program.code]
    sent, came = [said(program) for program in failed or (sender, taker)]
    wrong = [f"{came[what]} {what}" for what in ("lost", "doubled", "disordered") if came[what]]
    spent = came["last"] - sent["began"]
    return Relayed(sending.messages / spent, carried / (sending.messages * sending.size), ", ".join(wrong))


# --- rows ---------------------------------------------------------------------------------------------------


def told(found: Found, missing: str) -> Report:
    """Return the report; `missing` is the reason why nothing can be measured here, or empty."""
    rows = [*_figures(found, missing), *_ratios(found, missing)]
    trials = {rate_of(*key): [asdict(run) for run in runs] for key, runs in found.items()}
    return Report("sites", rows, {"trials": trials})


def _figures(found: Found, missing: str) -> Iterator[Row]:
    for case, it in CASES.items():
        for who in it.who:
            runs = found.get((case, who), [])
            for name, value in ((rate_of(case, who), _rate), (bytes_of(case, who), _bytes)):
                yield _row(name, runs, value, missing)


def _row(name: str, runs: Sequence[Relayed], value: Callable[[Relayed], float], missing: str) -> Row:
    if not runs:
        return Row(name, 0.0, missing=missing or MISSING)
    flaw = "; ".join(sorted({run.flaw for run in runs if run.flaw}))
    return Row(name, 0.0 if flaw else median(map(value, runs)), flaw=flaw)


def _ratios(found: Found, missing: str) -> Iterator[Row]:
    for case, it in CASES.items():
        for theirs in it.who[1:]:
            pairs = list(zip(found.get((case, it.who[0]), []), found.get((case, theirs), []), strict=False))
            ratios = [ours.rate / their.rate for ours, their in pairs if not ours.flaw + their.flaw]
            if ratios:
                yield Row(ratio_of(case, theirs), median(ratios), f"{min(ratios):.2f} to {max(ratios):.2f}")
            else:
                yield Row(ratio_of(case, theirs), 0.0, missing=missing or MISSING)


def _rate(run: Relayed) -> float:
    return run.rate


def _bytes(run: Relayed) -> float:
    return run.bytes
