"""A run of requests: servers and a client in processes of their own, and their figures."""

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
    """The figures of a run.

    `flaw` names the errors, or is empty.
    """

    figures: dict[str, Any] = field(default_factory=dict)
    served: tuple[int, ...] = ()  # requests by server
    flaw: str = ""

    def share(self, server: int) -> float:
        """Return the percentage of all requests that a server handled; 0 without requests."""
        return 100 * self.served[server] / (sum(self.served) or 1)


def exchanged(processes: Processes, asking: Asking, servers: Commands, asker: list[str]) -> Outcome:
    """Run the requests, and return the figures.

    A failing program is a flaw, and the other programs are killed.
    """
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
    # Servers start one after the other, as embedded nodes use the first one as their seed.
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
    """Wait until a server is ready. Raises Failed if the server ends before, or after LIMIT seconds."""
    processes.until(lambda: ready.exists() or server.ended(), LIMIT, f"{server.name} was not ready")
    if server.ended():
        raise Failed(f"{server.name} ended by itself: {server.words()}")
