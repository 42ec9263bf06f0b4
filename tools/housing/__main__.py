"""Prints all figures, beside those of an earlier file if one is given; can write them to a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from tools.housing import language, pages, passes, rooms, source


def figures() -> Mapping[str, int]:
    return {
        **source.sizes(),
        **source.docstrings(),
        **language.figures(),
        **pages.figures(),
        "names with two meanings": len(source.meanings()),
        "attributes of other parts set at construction": len(source.set_later()),
        **rooms.figures("mesh.kernel"),
        **rooms.figures("mesh"),
        **rooms.figures("tools"),
        **rooms.figures("tools.benchmarks"),
        **rooms.figures("tools.simulator"),
        **passes.figures(),
    }


def show_docstrings(package: str) -> None:
    """Print the counts by package, and the first lines of the marked docstrings of one package or `all`."""
    table = Table("package", "docstrings", "marked", "wider count", box=None)
    for name, counts in language.by_package().items():
        table.add_row(name, *map(str, counts))
    Console().print(table)
    for one in language.docstrings():
        if package in (one.package, "all") and one.is_marked_widely:
            mark = "marked" if one.is_marked else "wider"
            click.echo(f"{one.file}:{one.line}: {mark}: {one.text.splitlines()[0]}")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--json", "file", type=click.Path(dir_okay=False, path_type=Path), help="Write the figures to this file."
)
@click.option(
    "--before",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help="Also print the figures of this file, written by --json.",
)
@click.option(
    "--names",
    is_flag=True,
    help="Also list names with two meanings, and attributes that are set from outside.",
)
@click.option(
    "--docstrings",
    "package",
    metavar="PACKAGE",
    help="List docstrings of PACKAGE, or of `all`, that should be rewritten.",
)
def main(file: Path | None, before: Path | None, names: bool, package: str | None) -> None:
    """Count the size, the density and the dependencies of the source."""
    if package is not None:
        show_docstrings(package)
        return
    now = figures()
    was = json.loads(before.read_text()) if before else {}
    table = Table("", *(["before"] if was else []), "now", box=None)
    for name, figure in now.items():
        table.add_row(name, *([str(was.get(name, ""))] if was else []), str(figure))
    Console().print(table)
    if names:
        for name, paths in source.meanings().items():
            click.echo(f"{name}: {', '.join(paths)}")
        click.echo("\n".join(source.set_later()))
    if file:
        file.write_text(json.dumps(now, indent=1) + "\n")


if __name__ == "__main__":
    main()
