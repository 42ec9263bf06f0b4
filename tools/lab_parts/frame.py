"""What is around every long run: the lab that its faults need, the processes, and what outlives them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol, TypeVar

from tools.lab_parts.faults import NETWORK
from tools.lab_parts.netlab import NetLab
from tools.running.processes import Failed, Processes

P = TypeVar("P", bound=Processes)


class Planned(Protocol):
    """The part of a plan that all runs have: faults of `rows`, drawn from `seed`."""

    @property
    def rows(self) -> Sequence[int]: ...
    @property
    def seed(self) -> int: ...


class Counted(Protocol):
    """The part of a result that all runs have. `log`: where what was written is kept, when something is
    wrong."""

    log: str

    @property
    def is_clean(self) -> bool: ...


R = TypeVar("R", bound=Counted, covariant=True)


class Run(Protocol[R]):
    """A run, whose result is whole when it is over."""

    @property
    def result(self) -> R: ...
    def run(self) -> None: ...


def played(
    plan: Planned,
    hosts: int,
    processes: P,
    make: Callable[[P, NetLab | None], Run[R]],
    suffixes: Sequence[str],
) -> R:
    """Play the run that `make` makes, and keep the files with these suffixes if something is wrong. Failed
    when the mesh stops working; Interrupted."""
    with ExitStack() as stack:
        needs_lab = any(row in NETWORK for row in plan.rows)
        lab = stack.enter_context(NetLab(hosts, switch=True)) if needs_lab else None
        stack.enter_context(processes)
        run = make(processes, lab)
        try:
            run.run()
        except Failed as error:
            raise Failed(f"seed {plan.seed}: {error} Logs: {kept(processes.place, suffixes)}") from error
        if not run.result.is_clean:
            run.result.log = str(kept(processes.place, suffixes))
    return run.result


def kept(place: Path, suffixes: Sequence[str]) -> Path:
    """The path to which what was written is copied, to outlive the run."""
    path = Path(tempfile.mkdtemp(prefix="mesh-soak-"))
    for each in place.iterdir():
        if each.suffix in suffixes:
            shutil.copy(each, path)
    return path
