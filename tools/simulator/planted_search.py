"""Searches each planted bug: by which seed, after how many runs, in how many seconds of CPU time."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from tools.simulator.campaign import ALL
from tools.simulator.planted import BUGS, Bug, planted
from tools.simulator.reducer import reduced
from tools.simulator.scenario import told
from tools.simulator.script import Script, within
from tools.simulator.writing import written

TRIED = 2000  # seeds for a planted bug
ITS_OWN = re.compile(r"\(planted\w*\.py:\d+\)\Z")  # place of an exception that a patch itself raised


class BrokenBug(Exception):
    """A planted bug fails by a mistake of its own, for example a name that the product no longer has."""


@dataclass(frozen=True)
class Search:
    """The search for one planted bug.

    `broken` says why the bug is no use: the exception that its patch raised, or what its seed breaks without
    it. Otherwise it is empty.
    """

    name: str
    profile: str
    invariant: str
    seed: int | None  # seed that found it
    tries: int
    seconds: float  # of CPU time
    broken: str = ""


def script_of(bug: Bug, seed: int) -> Script:
    return within(written(seed, ALL[bug.profile]), bug.seconds)


def broken_without(bug: Bug, seed: int) -> list[str]:
    """Return the promises that the scenario of `seed` breaks while nothing is planted."""
    return [str(violation) for violation in told(script_of(bug, seed)).violations]


def is_found(bug: Bug, seed: int) -> bool:
    """Return whether the scenario of `seed` breaks the invariant of `bug` while `bug` is planted.

    Raises: BrokenBug if the patch itself raised an exception, which ends the scenario.
    """
    with planted(bug):
        violations = told(script_of(bug, seed)).violations
    for violation in violations:
        if violation.invariant == "crash" and ITS_OWN.search(violation.what):
            raise BrokenBug(violation.what)
    return any(violation.invariant == bug.invariant for violation in violations)


def search(name: str, seeds: Iterable[int] | None = None) -> Search:
    """Run scenarios until one finds the bug; by default its own seed first, and then the first TRIED.

    The one that finds it runs again without the bug: then it must keep every promise.
    """
    bug = BUGS[name]
    began, tries = time.process_time(), 0
    found, broken = None, ""
    for seed in _likely(bug.seed) if seeds is None else seeds:
        tries += 1
        try:
            if is_found(bug, seed):
                found = seed
                break
        except BrokenBug as error:
            broken = f"its patch failed: {error}"
            break
    seconds = round(time.process_time() - began, 2)
    if found is not None and (without := broken_without(bug, found)):
        broken = f"seed {found} breaks this without it, too: {without[0]}"
    return Search(name, bug.profile, bug.invariant, found, tries, seconds, broken)


def find_planted(console: Console, file: Path | None = None, reduce: bool = True) -> bool:
    """Search each planted bug, print the results, and return whether each is found.

    `file` receives a JSON row for each search as soon as it ends.
    """
    rows = []
    for name in BUGS:
        row = search(name)
        rows.append(row)
        if file is not None:
            file.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
        _show(console, row)
        if reduce and row.seed is not None:
            _show_script(console, row)
    return all(row.seed is not None and not row.broken for row in rows)


def _likely(first: int) -> Iterator[int]:
    yield first
    yield from (seed for seed in range(TRIED) if seed != first)


def _show(console: Console, row: Search) -> None:
    if row.broken:
        console.print(f"[red]broken[/red] {row.name}: {row.broken}", highlight=False)
    elif row.seed is None:
        console.print(f"[red]missed[/red] {row.name}: {row.invariant} was kept for {row.tries} seeds")
    else:
        what = f"{row.invariant}, {row.tries} seeds, {row.seconds:.1f} s"
        console.print(f"[green]found[/green] {row.name}: {what}", highlight=False)


def _show_script(console: Console, row: Search) -> None:
    assert row.seed is not None
    bug = BUGS[row.name]
    with planted(bug):
        short = reduced(script_of(bug, row.seed), bug.invariant, tries=150)
    show_script(console, bug.profile, row.seed, short)


def show_script(console: Console, profile: str, seed: int, script: Script) -> None:
    console.print(f"  {profile} {seed}: {len(script.steps)} steps", highlight=False)
    for step in script.steps:
        console.print(f"  {step}", highlight=False, markup=False)
