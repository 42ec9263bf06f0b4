"""Simulates random faults on meshes, and checks the promises of the core."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from itertools import count, cycle
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tools.simulator.campaign import ALL, Found, Total, again, run
from tools.simulator.planted_search import find_planted, show_script
from tools.simulator.profiles import PROFILES
from tools.simulator.reducer import reduced
from tools.simulator.report import as_json, has_failed, show, show_failure
from tools.simulator.writing import written

FAILED = 1
INTERIM = 60.0  # s between two progress lines without a terminal


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--hours", type=float, help="Run for this number of hours.")
@click.option("--seeds", type=int, help="Number of scenarios. Default: 100; with --hours: no limit.")
@click.option(
    "--seed", default=0, show_default=True, help="Seed of the first scenario; the next ones count up."
)
@click.option(
    "--profile",
    type=click.Choice([*ALL, "all"]),
    default="swarm",
    show_default=True,
    help="Profile of faults and work.",
)
@click.option("--jobs", default=2, show_default=True, help="Number of processes.")
@click.option(
    "--again",
    "known",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Run the scenarios of this file, which has a profile and a seed on each line.",
)
@click.option(
    "--planted", "is_planted", is_flag=True, help="Plant known bugs one at a time, and search for each."
)
@click.option(
    "--reduce/--no-reduce", default=True, help="Reduce failed scenarios to short scripts. Default: yes."
)
@click.option(
    "--json",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the figures to this file; with --planted, the seed and seconds of each planted bug.",
)
def main(
    hours: float | None,
    seeds: int | None,
    seed: int,
    profile: str,
    jobs: int,
    known: Path | None,
    is_planted: bool,
    reduce: bool,
    file: Path | None,
) -> None:
    """Run random scenarios on simulated wires, disks and clocks, and check every promise.

    A seed determines a scenario: the mesh, its faults and its workload. Exit code 1: a promise was broken.
    """
    console = Console()
    if is_planted:
        sys.exit(0 if find_planted(console, file, reduce) else FAILED)
    most = None if hours is not None and seeds is None else seeds or 100
    end = time.monotonic() + hours * 3600 if hours is not None else None
    scenarios = _numbered(seed, most, profile)
    if known is not None:
        lines = [(number, name) for name, number in again(known)]
        scenarios, most = iter(lines), len(lines)
    total = _run(console, scenarios, most, end, jobs)
    show(total, console)
    if file is not None:
        file.write_text(as_json(total) + "\n")
    for found in total.failed[:3] if reduce else ():
        _show_reduced(console, found)
    sys.exit(FAILED if has_failed(total) else 0)


def _numbered(first: int, most: int | None, profile: str) -> Iterator[tuple[int, str]]:
    profiles = cycle(PROFILES if profile == "all" else [profile])
    numbers = count(first) if most is None else range(first, first + most)
    return zip(numbers, profiles, strict=False)


def _run(
    console: Console, seeds: Iterator[tuple[int, str]], most: int | None, end: float | None, jobs: int
) -> Total:
    began = time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        whole = most if most is not None else (end or began) - began
        task = progress.add_task("0 scenarios", total=whole)
        state, interim = [0, 0], Interim(console, began)

        def heard(found: Found) -> None:
            state[0] += 1
            if found.violations:
                state[1] += 1
                show_failure(found, console)
            done = state[0] if most is not None else time.monotonic() - began
            text = f"{state[0]} scenarios, {state[1]} broke a promise"
            progress.update(task, completed=done, description=text)
            interim.hear(text, time.monotonic())

        return run(seeds, jobs, lambda: end is not None and time.monotonic() >= end, heard)


class Interim:
    """Prints the progress as a line every INTERIM seconds if the console is no terminal."""

    def __init__(self, console: Console, began: float) -> None:
        self._console, self._began, self._last = console, began, began

    def hear(self, text: str, now: float) -> None:
        if not self._console.is_terminal and now - self._last >= INTERIM:
            self._last = now
            minutes = (now - self._began) / 60
            self._console.print(f"{text}, {minutes:.1f} minutes", highlight=False)


def _show_reduced(console: Console, found: Found) -> None:
    invariant = found.violations[0][0]
    console.print(f"\nseed {found.seed} of {found.profile}, as short as {invariant} still breaks:")
    script = reduced(written(found.seed, ALL[found.profile]), invariant)
    show_script(console, found.profile, found.seed, script)


if __name__ == "__main__":
    main()
