"""How is one load tried? Receivers and senders in processes of their own, and what they have to say."""

import signal
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import psutil

from tools.benchmarks.loads.figures import Count
from tools.benchmarks.loads.load import Load
from tools.benchmarks.loads.runs import LIMIT, said, wait_for
from tools.benchmarks.peers.cases import CASES, Case
from tools.benchmarks.peers.servers import Server
from tools.benchmarks.peers.who import PEERS, Who
from tools.running.processes import Failed, Processes, Program

Said = dict[str, Any]
SIDES = ("server", "senders", "receivers")


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a trial: who is to be measured with what; a load for each sender."""

    case: str
    who: str
    turn: int
    loads: Sequence[Load]


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a trial. `figure` in the case's unit; `flaw` says why there is none."""

    case: str
    who: str
    turn: int
    figure: float = 0.0
    flaw: str = ""
    cpu: dict[str, float] = field(default_factory=dict)  # µs a message, by side
    resident: float = 0.0  # MB of the server, all its processes
    p99: float = 0.0  # ms, where there is a schedule
    late: float = 0.0  # ms, likewise: how late senders were themselves, which is part of the figure


def planned(case: str, who: str, turn: int, messages: int, seconds: int) -> Plan:
    """`messages` of 100 B, if the case does not say otherwise; `seconds` where it has a schedule."""
    root = f"{case.replace('/', '')}/{turn}/{list(PEERS).index(who)}"
    return Plan(case, who, turn, CASES[case].loads(root, PEERS[who], messages, seconds))


def try_out(processes: Processes, server: Server, plan: Plan) -> Trial:
    """A program that fails is a flaw; what it has left running ends."""
    programs: list[Program] = []
    blank = Trial(plan.case, plan.who, plan.turn)
    try:
        before = _used(server)
        came, sent = _exchanged(processes, server, plan, programs)
        cpu = (_used(server) - before, *(sum(s["cpu"] for s in side) for side in (sent, came)))
        messages = sum(load.messages for load in plan.loads)
        by_side = {side: 1e6 * used / messages for side, used in zip(SIDES, cpu, strict=True)}
        done = replace(blank, cpu=by_side, resident=_resident(server))
        return judged(done, CASES[plan.case], messages, came, sent)
    except Failed as error:
        processes.end([p for p in programs if not p.ended()], signal.SIGKILL)
        return replace(blank, flaw=str(error))


def _exchanged(
    processes: Processes, server: Server, plan: Plan, programs: list[Program]
) -> tuple[list[Said], list[Said]]:
    """The words of receivers and senders in the end."""
    who = PEERS[plan.who]
    wanted = _receivers(who, CASES[plan.case], plan.loads)
    for number, load in enumerate(wanted):
        programs.append(processes.launch(f"receiver-{number}", *who.receiver(server, load)))
    ready = [processes.place / load.ready for load in wanted]
    processes.until(
        lambda: all(path.exists() for path in ready) or any(p.ended() for p in programs),
        LIMIT,
        f"the receivers of {who.name} did not get ready",
    )
    _check(programs)
    for number, load in enumerate(plan.loads):
        programs.append(processes.launch(f"sender-{number}", *who.sender(server, load)))
    wait_for(processes, *programs)
    told = [said(program) for program in programs]
    return told[: len(wanted)], told[len(wanted) :]


def _receivers(who: Who, case: Case, loads: Sequence[Load]) -> list[Load]:
    """The load of each."""
    fan = case.fan if who.receives else 0
    return [replace(load, reader=reader) for load in loads for reader in range(fan)]


def judged(done: Trial, case: Case, messages: int, came: Sequence[Said], sent: Sequence[Said]) -> Trial:
    """With its figure, or with why it has none."""
    count = Count(*(sum(c[what] for c in came) for what in ("lost", "doubled", "disordered")))
    if not count.is_clean:
        return replace(done, flaw=str(count))
    if case.rate:
        half, most = (1e3 * max(c[name] for c in came) for name in ("p50", "p99"))
        return replace(done, figure=half, p99=most, late=1e3 * max(s["late"] for s in sent))
    last = max(s["answered"] for s in sent) if case.is_acked else max(c["last"] for c in came)
    return replace(done, figure=messages / (last - min(s["began"] for s in sent)))


def _check(programs: Sequence[Program]) -> None:
    for program in programs:
        if program.ended():
            raise Failed(f"{program.name} ended by itself: {program.words()}")


def _used(server: Server) -> float:
    """s of CPU, all its processes. Failed when one of them has ended."""
    _check(server.programs)
    times = [psutil.Process(program.pid).cpu_times() for program in server.programs]
    return float(sum(t.user + t.system for t in times))


def _resident(server: Server) -> float:
    return float(sum(psutil.Process(program.pid).memory_info().rss for program in server.programs)) / 1e6
