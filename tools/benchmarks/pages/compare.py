"""Compares the figures of a run with those of an earlier one."""

import argparse
import json
from pathlib import Path

from rich import box
from rich.table import Table

from tools.benchmarks.pages.report import Report, number

Old = dict[str, float]  # figures by name


def earlier(text: str) -> Old:
    """Return the figures in a PART.json of an earlier run, or in all those of a folder.

    Figures that are missing or have a flaw are left out. Raises: ArgumentTypeError.
    """
    path = Path(text)
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    found: Old = {}
    try:
        for file in files:
            rows = json.loads(file.read_text())["rows"]
            found |= {
                row["name"]: row["measured"] for row in rows if not row["flaw"] and not row.get("missing")
            }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise argparse.ArgumentTypeError(
            f"{file} is no result of tools/bench ({type(error).__name__}: {error}). "
            "Give a PART.json that it wrote, or the folder of them."
        ) from None
    return found


def compared(report: Report, old: Old) -> Table:
    """Return a table of the figures that both runs have."""
    table = Table(title=f"{report.part}, compared", box=box.SIMPLE, title_justify="left", title_style="bold")
    table.add_column("what")
    for column in ("old", "new", "new of old"):
        table.add_column(column, justify="right")
    for row in report.rows:
        if row.name in old and not row.flaw and not row.missing:
            was, unit = old[row.name], row.goal.unit
            ratio = f"{row.measured / was:.2f}" if was else ""
            table.add_row(row.goal.what, f"{number(was)} {unit}", f"{number(row.measured)} {unit}", ratio)
    if not table.rows:
        table.add_row("no figure in common", "", "", "")
    return table
