"""Rows and columns on a terminal or in a pipe."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDE = 10_000  # columns of what is no terminal: nothing is folded for a program that reads it


def tell_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """On stdout; `header` may be empty."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=WIDE)
    table = Table(box=None, pad_edge=False, show_header=bool(header), padding=(0, 2, 0, 0))
    rows = list(rows)
    for name in header or [""] * max(map(len, rows), default=0):
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))  # not str: [ ] in it would be markup
    console.print(table)
