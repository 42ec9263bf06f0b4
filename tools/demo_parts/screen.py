"""The output of the demo: a live table on a terminal, plain lines in a pipe."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby

from rich import box
from rich.console import Console, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.table import Table

from tools.demo_parts.figures import Outcome, Row

FRAME = 0.1  # s between updates on a terminal
LINE = 2.0  # s between lines in a pipe
SPAN = 1.0  # s over which a rate is measured


class Screen:
    """The screen, for everything that the demo prints."""

    def __init__(self) -> None:
        self._console = Console(highlight=False)
        self._errors = Console(highlight=False, stderr=True)
        self._live: Live | None = None
        self._shown = 0.0
        self._past: list[tuple[float, Sequence[Row]]] = []

    def heading(self, text: str) -> None:
        self._console.print(f"\n[bold]{text}[/bold]")

    def say(self, text: str, style: str = "") -> None:
        """Print lines above the live table."""
        for line in text.splitlines():
            self._console.print(f"  {line}", style=style, markup=False, soft_wrap=True)

    def fail(self, text: str) -> None:
        self._errors.print(text, style="bold red", markup=False, soft_wrap=True)

    @contextmanager
    def live(self) -> Iterator[None]:
        """Enter a context for a round; on a terminal, `rows` updates a live table in it."""
        self._past.clear()
        self._shown = time.monotonic()
        if not self._console.is_terminal:
            yield
            return
        with Live(console=self._console, auto_refresh=False, transient=True) as self._live:
            yield
        self._live = None

    def rows(self, rows: Sequence[Row]) -> None:
        """Show the progress, unless it was shown in the last FRAME seconds (LINE in a pipe)."""
        now = time.monotonic()
        if now - self._shown < (FRAME if self._live else LINE):
            return
        self._shown = now
        self._past = [(then, old) for then, old in self._past if now - then <= SPAN + FRAME] + [(now, rows)]
        if self._live is not None:
            self._live.update(self._picture(rows), refresh=True)
        else:
            groups = groupby(rows, key=lambda row: row.node)
            self.say("; ".join(f"{node} {', '.join(map(_in_words, group))}" for node, group in groups))

    def _picture(self, rows: Sequence[Row]) -> RenderableType:
        then, old = self._past[0]
        seconds = max(self._past[-1][0] - then, FRAME)
        table = _table("dim")
        table.add_column("node", min_width=8)
        table.add_column("messages", justify="right", min_width=10)
        table.add_column("", min_width=17)
        table.add_column("a second", justify="right", min_width=8)
        table.add_column("state", min_width=16)
        for row, before in zip(rows, old, strict=True):
            count, rate = "", ""
            if row.count is not None:
                count, rate = f"{row.count:,}", f"{(row.count - (before.count or 0)) / seconds:,.0f}"
            style = "green" if row.is_up else "red"
            table.add_row(row.node, count, row.what, rate, row.state, style=style)
        return Padding(table, (1, 2))

    def summary(self, outcomes: Sequence[Outcome]) -> None:
        table = _table("bold")
        table.add_column("round", no_wrap=True)
        for heading in ("published", "arrived", "letters", "kills", "waited", "s"):
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column("SHA-256", no_wrap=True)
        for o in outcomes:
            arrived = f"{len(o.arrived)} x {min(o.arrived):,}"
            counts = (f"{count:,}" for count in (o.letters, o.kills, o.warnings))
            word = "[green]equal[/]" if o.is_equal else "[red]different[/]"
            table.add_row(o.name, f"{o.published:,}", arrived, *counts, f"{o.seconds:.1f}", word)
        self._console.print(Padding(table, (0, 2, 1, 2)))


def _in_words(row: Row) -> str:
    words = row.what if row.count is None else f"{row.count:,} {row.what}"
    return f"{words} ({row.state})" if row.state not in ("", "up") else words


def _table(header: str) -> Table:
    return Table(
        box=box.SIMPLE_HEAD, header_style=header, show_edge=False, pad_edge=False, collapse_padding=True
    )
