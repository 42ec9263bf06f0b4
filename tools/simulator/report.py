"""The report of a run of scenarios, as a table and as JSON."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.table import Table

from tools.simulator.campaign import WORK, Found, Total
from tools.simulator.counters import never, sometimes


def show(total: Total, console: Console) -> None:
    """Print the figures, the faults, the expected events, the failures and the verdict."""
    _figures(total, console)
    _faults(total, console)
    said = ", ".join(f"{what} {total.counts[what]}" for what in sometimes(total.profiles))
    console.print(f"\n[bold]Sometimes[/bold]: {said}", highlight=False)
    for found in total.failed:
        show_failure(found, console)
    for what in never(total.counts, total.profiles):
        console.print(f"[red]never happened[/red]: {what}")
    console.print(
        "[red]broken promises[/red]" if has_failed(total) else "[green]every promise was kept[/green]"
    )


def has_failed(total: Total) -> bool:
    return bool(total.failed or never(total.counts, total.profiles))


def show_failure(found: Found, console: Console) -> None:
    """Print the failure of one seed, with one violation of each invariant."""
    console.print(f"\n[red]seed {found.seed} of {found.profile}[/red] breaks a promise; to see it again:")
    console.print(
        f"  tools/simulate --profile {found.profile} --seed {found.seed} --seeds 1", highlight=False
    )
    seen = set()
    for invariant, text in found.violations:
        if invariant not in seen:
            console.print(f"    {text}", highlight=False, markup=False)
            seen.add(invariant)


def _figures(total: Total, console: Console) -> None:
    hours = total.simulated / 3600
    speed = total.simulated / total.seconds if total.seconds else 0.0
    table = Table(show_header=False, title="Scenarios")
    for name, value in (
        ("scenarios", f"{total.scenarios}"),
        ("by profile", ", ".join(f"{name} {n}" for name, n in sorted(total.profiles.items()))),
        ("simulated", f"{hours:.1f} hours"),
        ("on the clock", f"{total.seconds / 60:.1f} minutes, {speed:.0f} times as fast"),
        ("events in histories", f"{total.events}"),
        ("faults injected", f"{sum(total.faults.values())}"),
        ("scenarios that broke a promise", f"{len(total.failed)}"),
    ):
        table.add_row(name, value)
    console.print(table)


def _faults(total: Total, console: Console) -> None:
    table = Table(
        "fault", "times", *(f"while {what}" for what in WORK.values()), title="Faults, and what went on"
    )
    for name, times in total.faults.most_common():
        table.add_row(name, str(times), *(str(total.cells[name, what]) for what in WORK.values()))
    console.print(table)


def as_json(total: Total) -> str:
    found: dict[str, Any] = {
        "scenarios": total.scenarios,
        "profiles": dict(total.profiles),
        "simulated_hours": total.simulated / 3600,
        "seconds": total.seconds,
        "events": total.events,
        "faults": dict(total.faults),
        "cells": {f"{fault} while {what}": n for (fault, what), n in sorted(total.cells.items())},
        "sometimes": {what: total.counts[what] for what in sometimes(total.profiles)},
        "never": never(total.counts, total.profiles),
        "failed": [
            {"seed": f.seed, "profile": f.profile, "violations": [text for _, text in f.violations]}
            for f in total.failed
        ],
    }
    return json.dumps(found, indent=2)
