"""The frame of long runs except `sites`: the lab and disks for faults, the processes, and the logs."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from tools.lab_parts.disks import SmallDisk, disks_of
from tools.lab_parts.faults import DISK, NETWORK
from tools.lab_parts.netlab import NetLab
from tools.running.processes import Failed, Processes

P = TypeVar("P", bound=Processes)


class Planned(Protocol):
    """The common part of plans: faults of `rows`, drawn from `seed`."""

    @property
    def rows(self) -> Sequence[int]: ...
    @property
    def seed(self) -> int: ...


class Counted(Protocol):
    """The common part of results.

    `log` is the folder of the logs if the result is not clean, or empty.
    """

    log: str

    @property
    def is_clean(self) -> bool: ...


R = TypeVar("R", bound=Counted, covariant=True)


class Run(Protocol[R]):
    """A run, whose result is complete when it ends."""

    @property
    def result(self) -> R: ...
    def run(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Stage(Generic[P]):
    """The environment of a run: its processes, and the lab and disks that its faults need."""

    processes: P
    lab: NetLab | None = None
    disks: Mapping[str, SmallDisk] = field(default_factory=dict)

    def inside(self, names: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Return the prefix of commands on the host of each node, which is empty without a lab."""
        lab = self.lab
        return {n: lab.command(i, []) if lab is not None else () for i, n in enumerate(names, start=1)}


def played(
    plan: Planned,
    names: Sequence[str],
    processes: P,
    make: Callable[[Stage[P]], Run[R]],
    suffixes: Sequence[str],
) -> R:
    """Build a run by `make`, run it with nodes of the given names, and return its result.

    Files with `suffixes` are kept after an error, or if the result is not clean. Raises Failed when the mesh
    stops working, or Interrupted.
    """
    with ExitStack() as stack:
        needs_lab = any(row in NETWORK for row in plan.rows)
        lab = stack.enter_context(NetLab(len(names), switch=True)) if needs_lab else None
        needs_disks = any(row in DISK for row in plan.rows)
        disks = stack.enter_context(disks_of(names if needs_disks else ()))
        stack.enter_context(processes)
        run = make(Stage(processes, lab, disks))
        try:
            run.run()
        except Failed as error:
            raise Failed(f"seed {plan.seed}: {error} Logs: {kept(processes.place, suffixes)}") from error
        if not run.result.is_clean:
            run.result.log = str(kept(processes.place, suffixes))
    return run.result


def kept(place: Path, suffixes: Sequence[str]) -> Path:
    """Copy the files with `suffixes` to a new folder that is not deleted, and return its path."""
    path = Path(tempfile.mkdtemp(prefix="mesh-soak-"))
    for each in place.iterdir():
        if each.suffix in suffixes:
            shutil.copy(each, path)
    return path
