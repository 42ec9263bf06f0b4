"""Shows the steps of a check: a live bar on a terminal, else a line for each step and tenth of the tests."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

WIDTH = 11  # characters of a step's name


class Display:
    """The display of a check for a person."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            TextColumn(f"{{task.description:{WIDTH}}}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )

    def line(self, text: str, style: str = "") -> None:
        self._console.print(escape(text), style=style, highlight=False, soft_wrap=True)

    @contextmanager
    def running(self, name: str) -> Iterator[TaskID]:
        with self._bar:
            task = self._bar.add_task(name, total=None, note="")
            try:
                yield task
            finally:
                self._bar.remove_task(task)

    def passed(self, name: str, seconds: float, note: str = "") -> None:
        self.line(f"{name:{WIDTH}} {seconds:6.1f} s  {note}".rstrip())

    def failed(self, name: str, seconds: float, output: str) -> None:
        self.line(f"{name:{WIDTH}} {seconds:6.1f} s  failed", style="bold red")
        if output.strip():
            self.line(output.rstrip())

    def follow(self, task: TaskID, reader: int) -> threading.Thread:
        """Start and return a thread that shows the progress of the tests.

        It reads lines "DONE TOTAL" from the descriptor `reader` until the other end closes.
        """
        thread = threading.Thread(target=self._follow, args=(task, reader), daemon=True)
        thread.start()
        return thread

    def _follow(self, task: TaskID, reader: int) -> None:
        tenth = 0
        with os.fdopen(reader) as lines:
            for line in lines:
                done, total = map(int, line.split())
                self._bar.update(task, completed=done, total=total, note=f"{done:,} of {total:,}")
                if not self._console.is_terminal and done * 10 // total > tenth:
                    tenth = done * 10 // total
                    self.line(f"{'':{WIDTH}} {tenth * 10:3} %")
