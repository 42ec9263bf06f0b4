"""Progress of Spark jobs: a bar of tasks on a terminal, or else a line for each step."""

import sys
import threading
from types import TracebackType
from typing import Self

from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

LOOK = 0.25  # s between two updates


class Progress:
    """A progress bar on stderr: `with Progress(session, "reading") as bar: …; bar.show("writing")`."""

    def __init__(self, session: SparkSession, text: str) -> None:
        self._tracker = session.sparkContext.statusTracker()
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(text, total=None)
        self._said = ""  # avoids repeated lines
        self._ended = threading.Event()
        self._look = threading.Thread(target=self._watch, daemon=True)

    def show(self, text: str) -> None:
        """Show `text` as the current step; if stderr is not a terminal, print each new text on a line."""
        self._bar.update(self._task, description=text)
        if not sys.stderr.isatty() and text != self._said:
            self._said = text
            print(f"  {text}", file=sys.stderr, flush=True)

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._bar.start()
            self._look.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._look.ident:
            self._look.join()
            self._bar.stop()

    def _watch(self) -> None:
        while not self._ended.wait(LOOK):
            stages = [self._tracker.getStageInfo(stage) for stage in self._tracker.getActiveStageIds()]
            done = sum(stage.numCompletedTasks for stage in stages if stage)
            total = sum(stage.numTasks for stage in stages if stage)
            self._bar.update(self._task, completed=done, total=total or None)
