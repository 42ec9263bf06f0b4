"""One run of requests: servers and who asks, in processes of their own, and what each has to say."""

import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.benchmarks.loads.runs import LIMIT, said, wait_for
from tools.benchmarks.services.asking import Asking
from tools.running.processes import Failed, Processes, Program

Commands = Sequence[list[str]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The figures of a run; `flaw` says why there are none."""

    figures: dict[str, Any] = field(default_factory=dict)
    served: tuple[int, ...] = ()  # by each server
    flaw: str = ""

    def share(self, server: int) -> float:
        """The part of all requests that it has served, in percent."""
        return 100 * self.served[server] / (sum(self.served) or 1)


def exchanged(processes: Processes, asking: Asking, servers: Commands, asker: list[str]) -> Outcome:
    """A program that fails is a flaw; what it has left running ends."""
    programs: list[Program] = []
    try:
        return _exchanged(processes, asking, servers, asker, programs)
    except Failed as error:
        processes.end([program for program in programs if not program.ended()], signal.SIGKILL)
        return Outcome(flaw=str(error))


def _exchanged(
    processes: Processes, asking: Asking, servers: Commands, asker: list[str], programs: list[Program]
) -> Outcome:
    stem = asking.ready.name.rpartition("-")[0]
    # One after the other: with nodes of their own the first one is where the others come in.
    for number, command in enumerate(servers):
        programs.append(processes.launch(f"server-{number}", *command))
        _await(processes, programs[-1], processes.place / f"{stem}-{number}.ready")
    programs.append(processes.launch("asker", *asker))
    wait_for(processes, programs[-1])
    figures = said(programs[-1])
    processes.end(programs[:-1], signal.SIGTERM)
    served = tuple(said(program)["served"] for program in programs[:-1])
    wrong = figures["failed"] + figures["wrong"]
    flaw = f"{figures['failed']} failed, {figures['wrong']} wrong" if wrong else ""
    return Outcome(figures, served, flaw)


def _await(processes: Processes, server: Program, ready: Path) -> None:
    """Until it serves. Failed when it has ended instead."""
    processes.until(lambda: ready.exists() or server.ended(), LIMIT, f"{server.name} was not ready")
    if server.ended():
        raise Failed(f"{server.name} ended by itself: {server.words()}")
