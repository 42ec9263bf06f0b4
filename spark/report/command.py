"""The command `report`, which prints a report or writes it as a page or as JSON."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

import click
from pyspark.sql import SparkSession
from rich.console import Console

from mesh.history import options, reading, writing
from mesh.history.errors import SparkJobError
from mesh.history.failures import in_words
from mesh.history.ingest import ingest
from mesh.history.progress import Progress
from mesh.history.report.collecting import Tell, collect
from mesh.history.report.document import document
from mesh.history.report.facts import Facts
from mesh.history.report.terminal import summary
from mesh.history.session import session

T = TypeVar("T")
Span = tuple[datetime | None, datetime | None]

IN_PLACE = ("IN_USE", "LOCK_LOST")  # ingest errors while another job writes
CHANGED = "CHANGED"
TRIES = 3  # attempts if another job replaces files
WIDE = 100  # columns without a terminal


@click.command("report")
@options.sources
@options.to
@options.since
@options.until
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a self-contained HTML page with charts to FILE.",
)
@options.as_json
@click.option(
    "--json-to", type=click.Path(path_type=Path), metavar="FILE", help="Also write the JSON document to FILE."
)
@options.spark
def command(
    sources: tuple[str, ...],
    to: str,
    since: datetime | None,
    until: datetime | None,
    html: Path | None,
    as_json: bool,
    json_to: Path | None,
    master: str | None,
    conf: Mapping[str, str],
) -> None:
    """Show a report on the mesh: on the terminal, as a page with --html, or as JSON with --json.

    With --from, new snapshots of the nodes are read into the history first.
    """
    if html is not None:
        _check(html)
    if json_to is not None:
        writing.check(json_to, "--json-to")
    facts = _facts(sources, to, (since, until), master, conf)
    if as_json:
        json.dump(document(facts), sys.stdout, allow_nan=False)
        click.echo()
    else:
        console = Console(highlight=False)
        width = console.width if console.is_terminal else WIDE
        Console(highlight=False, width=width).print(summary(facts, width))
    if json_to is not None:
        writing.write(json_to, json.dumps(document(facts), allow_nan=False) + "\n", "--json-to")
    if html is not None:
        from mesh.history.report.page import page  # loads Plotly, needed only here

        writing.write(html, page(facts), "--html")
        click.echo(f"\nThe page: {html.absolute()}", err=as_json)


def _check(html: Path) -> None:
    """Check before the long job that the page can be written. Raises: SparkJobError."""
    if find_spec("plotly") is None:
        what = "The charts of the page need Plotly, which is not installed in this Python."
        raise SparkJobError(what, "Run:  pip install 'heronry[spark]'", "NO_PLOTLY")
    writing.check(html, "--html")


def _facts(sources: Sequence[str], to: str, span: Span, master: str | None, conf: Mapping[str, str]) -> Facts:
    spark = session("mesh report", master, conf)
    with Progress(spark, "starting") as bar:

        def tell(words: str, done: int, total: int) -> None:
            bar.show(f"{done} of {total}: {words}")

        if sources:
            bar.show("gathering snapshots")
            _gather(spark, sources, to)
        return again_if_changed(lambda: _collected(spark, to, span, tell))


def _gather(spark: SparkSession, sources: Sequence[str], to: str) -> None:
    """Ingest new segments.

    If another job is writing to an existing history, print the error, and continue with what the history has.
    """
    try:
        ingest(spark, sources, to, tell=lambda text: click.echo(text, err=True))
    except SparkJobError as error:
        if error.code not in IN_PLACE or not reading.exists(spark, to):
            raise
        click.echo(f"{error.what} [{error.code}]\nThe report shows what is in the history so far.", err=True)


def _collected(spark: SparkSession, to: str, span: Span, tell: Tell) -> Facts:
    with in_words(to):
        return collect(reading.history(spark, to, *span), datetime.now(UTC), tell)


def again_if_changed(make: Callable[[], T]) -> T:
    """Return the result of `make`, which is called again if a compaction replaced files meanwhile.

    After TRIES calls, the error of the last one is raised.
    """
    for _ in range(TRIES - 1):
        try:
            return make()
        except SparkJobError as error:
            if error.code != CHANGED:
                raise
    return make()
