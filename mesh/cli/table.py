"""Rows and columns on a terminal or in a pipe."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mesh.printable import harmless

WIDE = 10_000  # columns of what is no terminal: nothing is folded for a program that reads it
GAP = 2  # between columns
NARROW = 12  # least width of a column that is folded first

Cell = str | Text
TableRows = Sequence[Sequence[Cell]]


def tell_table(
    header: Sequence[str], rows: Iterable[Sequence[Cell]], folded: str = "", dropped: Sequence[str] = ()
) -> None:
    """On stdout; `header` may be empty. Where it is too narrow, the column `folded` gives way first, then
    those that are `dropped`, one after the other."""
    console = console_on_stdout()
    console.print(table_of(*fitting(header, list(rows), console.width, folded, dropped), folded))


def console_on_stdout() -> Console:
    """As wide as the terminal, or as anything could want."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=WIDE)


def fitting(
    header: Sequence[str], rows: TableRows, width: int, folded: str = "", dropped: Sequence[str] = ()
) -> tuple[Sequence[str], TableRows]:
    """Header and rows without those columns for which there is no room.

    Where a column is folded, no other is cut: after those that are `dropped` they are left out, too,
    from the right, all but the first one.
    """
    if not header:
        return header, rows
    widths = [
        NARROW if title == folded else max(text(cell).cell_len for cell in (title, *cells))
        for title, *cells in zip(header, *rows, strict=True)
    ]
    kept = list(range(len(header)))
    last = [title for title in reversed(header[1:]) if folded and title not in (folded, *dropped)]
    for title in (*dropped, *last):
        if sum(widths[i] + GAP for i in kept) - GAP <= width:
            break
        kept.remove(header.index(title))
    return [header[i] for i in kept], [[row[i] for i in kept] for row in rows]


def table_of(header: Sequence[str], rows: Iterable[Sequence[Cell]], folded: str = "") -> Table:
    """The same, to be shown some other way."""
    table = Table(box=None, pad_edge=False, show_header=bool(header), padding=(0, GAP, 0, 0))
    rows = list(rows)
    for name in header or [""] * max(map(len, rows), default=0):
        gives_way = bool(folded) and name == folded
        is_firm = bool(folded) and not gives_way
        table.add_column(name, overflow="fold", no_wrap=is_firm, min_width=NARROW if gives_way else None)
    for row in rows:
        table.add_row(*map(text, row))
    return table


def text(cell: Cell) -> Text:
    """A cell as text. Others may have put in anything: neither [ ] nor an escape code is carried out."""
    return cell if isinstance(cell, Text) else Text(harmless(cell))
