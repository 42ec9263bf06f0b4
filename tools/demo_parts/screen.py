"""What does a person see? On a terminal a table that lives, in a pipe plain lines."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

FRAME = 0.1  # s between pictures on a terminal
LINE = 2.0  # s between lines in a pipe
SPAN = 1.0  # s over which a rate is measured


@dataclass(frozen=True, slots=True)
class Row:
    """One node, and the lines that it has seen in this round."""

    node: str
    what: str
    lines: int
    kills: int
    state: str


class Screen:
    """Everything that is printed goes through here."""

    def __init__(self) -> None:
        self._console = Console(highlight=False)
        self._errors = Console(highlight=False, stderr=True)
        self._live: Live | None = None
        self._shown = 0.0
        self._past: list[tuple[float, Sequence[Row]]] = []

    def heading(self, text: str) -> None:
        self._console.print(f"\n[bold]{text}[/bold]")

    def say(self, text: str, style: str = "") -> None:
        """A line, above what lives."""
        for line in text.splitlines():
            self._console.print(f"  {line}", style=style, markup=False, soft_wrap=True)

    def fail(self, text: str) -> None:
        """What went wrong, to stderr."""
        self._errors.print(text, style="bold red", markup=False, soft_wrap=True)

    @contextmanager
    def live(self) -> Iterator[None]:
        """As long as a round runs, `rows` is shown again and again."""
        self._past.clear()
        self._shown = time.monotonic()
        if not self._console.is_terminal:
            yield
            return
        with Live(console=self._console, auto_refresh=False, transient=True) as self._live:
            yield
        self._live = None

    def rows(self, rows: Sequence[Row]) -> None:
        """How things stand."""
        now = time.monotonic()
        if now - self._shown < (FRAME if self._live else LINE):
            return
        self._shown = now
        self._past = [(then, old) for then, old in self._past if now - then <= SPAN + FRAME] + [(now, rows)]
        if self._live is not None:
            self._live.update(self._table(rows), refresh=True)
        else:
            self.say(", ".join(f"{row.node} {row.what} {row.lines:,} ({row.state})" for row in rows))

    def _table(self, rows: Sequence[Row]) -> Table:
        then, old = self._past[0]
        seconds = max(self._past[-1][0] - then, FRAME)
        table = Table(box=box.SIMPLE_HEAD, header_style="dim")
        table.add_column("node", min_width=8)
        table.add_column("lines", justify="right", min_width=10)
        table.add_column("", min_width=9)
        table.add_column("a second", justify="right", min_width=8)
        table.add_column("kills", justify="right")
        table.add_column("state", min_width=16)
        for row, before in zip(rows, old, strict=True):
            rate = (row.lines - before.lines) / seconds
            style = "" if row.state.startswith("up") else "red"
            table.add_row(
                row.node, f"{row.lines:,}", row.what, f"{rate:,.0f}", str(row.kills), f"[{style or 'green'}]{row.state}[/]",
                style=style,
            )  # fmt: skip
        return table

    def summary(self, subscribers: Sequence[str], rounds: Sequence[tuple[str, int, Sequence[int], int, float, str]]) -> None:
        """A row for each round: (what, published, arrived, kills, seconds, verdict)."""
        table = Table(box=box.SIMPLE_HEAD, header_style="bold")
        table.add_column("round", min_width=14)
        table.add_column("published", justify="right")
        for name in subscribers:
            table.add_column(f"at {name}", justify="right")
        for heading in ("kills", "seconds"):
            table.add_column(heading, justify="right")
        table.add_column("SHA-256")
        for what, published, arrived, kills, seconds, verdict in rounds:
            counts = [f"{count:,}" for count in arrived]
            word = "[red]differs[/red]" if verdict else "[green]all equal[/green]"
            table.add_row(what, f"{published:,}", *counts, str(kills), f"{seconds:.1f}", word)
        self._console.print(table)
