"""A run of jobs: producers and consumers in processes of their own, and their figures."""

import signal
import time
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import psutil

from tools.benchmarks.loads.runs import LIMIT, said, wait_for
from tools.benchmarks.peers.client import QUIET, STALL
from tools.benchmarks.peers.servers import Server
from tools.benchmarks.queues.jobs import COUNT, Jobs
from tools.benchmarks.queues.workers import Worker
from tools.running.processes import Failed, Processes, Program


@dataclass(frozen=True, slots=True)
class Outcome:
    """The figures of a run in jobs per second.

    `flaw` says why there is no result, or is empty.
    """

    figures: dict[str, float] = field(default_factory=dict)
    again: int = 0  # redelivered and marked so
    server: float = 0.0  # µs of the server's CPU per job
    flaw: str = ""


def run(processes: Processes, at: Server, who: Worker, jobs: Jobs, waits: bool) -> Outcome:
    """Run the jobs, and return the figures.

    A failing program is a flaw, and the other programs are killed. With `waits`, jobs are consumed only after
    all are put.
    """
    programs: list[Program] = []
    try:
        return _run(processes, at, who, jobs, waits, programs)
    except Failed as error:
        processes.end([program for program in programs if not program.ended()], signal.SIGKILL)
        return Outcome(flaw=str(error))


def _run(
    processes: Processes, at: Server, who: Worker, jobs: Jobs, waits: bool, programs: list[Program]
) -> Outcome:
    def launch(role: str, count: int) -> list[Program]:
        parts = [replace(jobs, part=part) for part in range(count)]
        made = [processes.launch(f"{role}-{j.part}", *who.command(role, at, j)) for j in parts]
        programs.extend(made)
        return made

    before = used(at)
    producers = launch("put", jobs.producers) if waits else []
    wait_for(processes, *producers) if waits else None
    consumers = launch("take", jobs.consumers)
    _await_ready(processes, jobs, consumers)
    producers = producers or launch("put", jobs.producers)
    _await_taken(processes, jobs, programs)
    wait_for(processes, *producers)
    put = [said(program) for program in producers]
    processes.end(consumers, signal.SIGTERM)
    took = [said(program) for program in consumers]
    flaw, again = counted(jobs, *(_numbers(processes, jobs, kind) for kind in ("numbers", "again")))
    server = 1e6 * (used(at) - before) / jobs.messages
    return Outcome({} if flaw else figures(jobs, put, took, waits), again, server, flaw)


def figures(jobs: Jobs, put: Sequence[Any], took: Sequence[Any], waits: bool) -> dict[str, float]:
    """Return the jobs per second.

    The rate of puts counts until the last answer, and that of deliveries from the first arrival to the last
    ack. Without `waits`, one rate counts from the first put until the last ack or answer.
    """
    began, answered = min(p["began"] for p in put), max(p["answered"] for p in put)
    first, last = min(t["first"] for t in took if t["first"]), max(t["last"] for t in took)
    if waits:
        return {"put": jobs.messages / (answered - began), "take": jobs.messages / (last - first)}
    return {"flow": jobs.messages / (max(last, answered) - began)}


def counted(jobs: Jobs, numbers: Iterable[int], again: Iterable[int]) -> tuple[str, int]:
    """Return the errors, empty if there are none, and the number of marked redeliveries."""
    came, flagged = Counter(numbers), Counter(again)
    lost = jobs.messages - len(came)
    doubled = sum(max(0, count - 1 - flagged[number]) for number, count in came.items())
    wrong = f"lost {lost}, doubled {doubled}" if lost or doubled else ""
    return wrong, flagged.total()


def _await_ready(processes: Processes, jobs: Jobs, consumers: Sequence[Program]) -> None:
    paths = [processes.place / replace(jobs, part=part).file("ready") for part in range(jobs.consumers)]
    processes.until(
        lambda: all(path.exists() for path in paths) or any(c.ended() for c in consumers),
        LIMIT,
        "the consumers did not get ready",
    )
    _check(consumers)


def _await_taken(processes: Processes, jobs: Jobs, programs: Sequence[Program]) -> None:
    """Wait until all jobs are acked and duplicates would have arrived, or the stream stalls."""
    paths = [processes.place / replace(jobs, part=part).file("count") for part in range(jobs.consumers)]
    seen, since = -1, time.monotonic()
    while (count := sum(COUNT.unpack(path.read_bytes())[0] for path in paths)) < jobs.messages:
        if count != seen:
            seen, since = count, time.monotonic()
        if time.monotonic() - since > (STALL if count else 3 * STALL):
            break
        if any(program.code for program in programs):
            _check([program for program in programs if program.code])
        processes.pause(0.02)
    processes.pause(QUIET)


def _check(programs: Iterable[Program]) -> None:
    for program in programs:
        if program.ended():
            raise Failed(f"{program.name} ended by itself: {program.words()}")


def _numbers(processes: Processes, jobs: Jobs, kind: str) -> list[int]:
    found = array("Q")
    for part in range(jobs.consumers):
        found.frombytes((processes.place / replace(jobs, part=part).file(kind)).read_bytes())
    return list(found)


def used(server: Server) -> float:
    """Return the CPU seconds of the running processes of a server."""
    times = [psutil.Process(program.pid).cpu_times() for program in server.programs if not program.ended()]
    return float(sum(t.user + t.system for t in times))
