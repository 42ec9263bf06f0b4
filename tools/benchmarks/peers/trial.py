"""Runs one load: receivers and senders in processes of their own, and their figures."""

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
    """The plan of a run: a client, a case, and a load for each sender."""

    case: str
    who: str
    turn: int
    loads: Sequence[Load]


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a run.

    `figure` is in the case's unit. `flaw` is the reason for no result, or empty.
    """

    case: str
    who: str
    turn: int
    figure: float = 0.0
    flaw: str = ""
    cpu: dict[str, float] = field(default_factory=dict)  # µs per message, by side
    resident: float = 0.0  # MB of all processes of the server
    p99: float = 0.0  # ms, with a schedule
    late: float = 0.0  # ms, with a schedule: included delay of senders


def planned(case: str, who: str, turn: int, messages: int, seconds: int) -> Plan:
    """Return the plan of a run with `messages` messages of 100 B, or with the number and size of the case.

    A case with a schedule takes `seconds` seconds.
    """
    root = f"{case.replace('/', '')}/{turn}/{list(PEERS).index(who)}"
    return Plan(case, who, turn, CASES[case].loads(root, PEERS[who], messages, seconds))


def try_out(processes: Processes, server: Server, plan: Plan) -> Trial:
    """Run a plan, and return its result.

    A failing program is a flaw, and the other programs are killed.
    """
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
    """Return the printed figures of receivers and senders."""
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
    """Return the load of each receiver; none if only the answers to senders count."""
    fan = case.fan if who.receives else 0
    return [replace(load, reader=reader) for load in loads for reader in range(fan)]


def judged(done: Trial, case: Case, messages: int, came: Sequence[Said], sent: Sequence[Said]) -> Trial:
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
    """Return the CPU seconds of all processes of a server. Raises: Failed, if one has ended."""
    _check(server.programs)
    times = [psutil.Process(program.pid).cpu_times() for program in server.programs]
    return float(sum(t.user + t.system for t in times))


def _resident(server: Server) -> float:
    return float(sum(psutil.Process(program.pid).memory_info().rss for program in server.programs)) / 1e6
