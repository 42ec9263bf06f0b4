"""The tables of docs/spark.md, and its commands as they are typed."""

import re
import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from mesh.cli import main as mesh
from mesh.features.history.cli import spark_child
from mesh.history import cli
from tests.pages import SPARK, Terminal, blocks

PAGE = SPARK.read_text()


class View(NamedTuple):
    """A view with its table: `mesh.history.views.<room>.<name>(<arguments>)`."""

    room: str
    name: str
    arguments: str
    rows: str

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in order."""
        firsts = [row.split(" | ")[0] for row in self.rows.splitlines()[2:]]
        return [column for first in firsts for column in re.findall(r"`(\w+)`", first)]

    def __str__(self) -> str:
        return f"{self.room}.{self.name}"


VIEWS = [
    View(*found)
    for found in re.findall(
        r"^\*\*`(\w+)\.(\w+)\((.*?)\)`\*\*(?:[^\n|]*\n)+((?:\|.*\n)+)", PAGE, re.MULTILINE
    )
]


def table(head: str) -> list[list[str]]:
    """Return the cells of the rows below the row that begins with `head`."""
    [rows] = re.findall(rf"^\| {re.escape(head)} \|.*\n\|[- |]+\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    return [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in rows.splitlines()]


def unrun() -> list[list[str]]:
    """Return the words of the commands in text blocks, which need a cluster or never end."""
    text = "".join(block.text for block in blocks("text", [SPARK])).replace("\\\n", " ")
    typed = [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]
    return [shlex.split(line) for line in typed if not line.startswith("JOB=")]


def run_job(shell: Terminal, command: str, folder: Path) -> str:
    """Run a Spark job, and return what it prints on stdout.

    A JVM of its own for each job would take minutes. The job runs here, behind the same entry point, in the
    session of the tests, which it may not end.
    """
    program, *arguments = shlex.split(shell.here(command).replace("python -m mesh.history ", "spark "))
    printed = StringIO()
    with pytest.MonkeyPatch.context() as patch, _signals_kept(), redirect_stdout(printed):
        patch.setenv("MESH_STATE_DIR", shell.environ["MESH_STATE_DIR"])
        patch.chdir(folder)
        patch.setattr(SparkSession, "stop", lambda session: None)
        patch.setattr(spark_child, "run", lambda verb, rest: cli.main([verb, *rest]))
        code = mesh.main(arguments) if program == "mesh" else cli.main(arguments)
    assert code == 0, command
    return printed.getvalue()


@contextmanager
def _signals_kept() -> Iterator[None]:
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
