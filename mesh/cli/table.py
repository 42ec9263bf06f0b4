"""Prints tables on a terminal or into a pipe."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mesh.printable import harmless

WIDE = 10_000  # columns without a terminal: output for programs is not folded
GAP = 2  # between columns
NARROW = 12  # least width of the folded column

Cell = str | Text
TableRows = Sequence[Sequence[Cell]]


def tell_table(
    header: Sequence[str], rows: Iterable[Sequence[Cell]], folded: str = "", dropped: Sequence[str] = ()
) -> None:
    """Print a table on stdout; `header` may be empty.

    On a narrow terminal the column `folded` is wrapped first, then those in `dropped` are removed in order.
    """
    console = console_on_stdout()
    console.print(table_of(*fitting(header, list(rows), console.width, folded, dropped), folded))


def console_on_stdout() -> Console:
    """Return a console as wide as the terminal, or as WIDE without one."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=WIDE)


def fitting(
    header: Sequence[str], rows: TableRows, width: int, folded: str = "", dropped: Sequence[str] = ()
) -> tuple[Sequence[str], TableRows]:
    """Return header and rows without the columns that do not fit into `width`.

    With `folded`, no other column is cut: after those in `dropped`, further columns are removed from the
    right, except the first.
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
    """Return a table of `rows`; if `folded` is given, only that column wraps."""
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
    """Return a cell as text. Cells may contain received data, so markup and escape codes have no effect."""
    return cell if isinstance(cell, Text) else Text(harmless(cell))
