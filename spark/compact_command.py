"""The command `compact`, which merges small files."""

from collections.abc import Mapping

import click

from mesh.history import options
from mesh.history.compaction import compact, finish
from mesh.history.failures import in_words
from mesh.history.files import Files
from mesh.history.lock import locked
from mesh.history.progress import Progress
from mesh.history.reading import found
from mesh.history.session import session


@click.command("compact")
@options.to
@options.spark
def command(to: str, master: str | None, conf: Mapping[str, str]) -> None:
    """Merge the many small files of a history into few large ones.

    `ingest` does the same at its end, or after each hour with --every or --continuous.
    """
    spark = session("mesh compact", master, conf)
    files = Files(spark)
    with Progress(spark, "compact"), in_words(to):
        place = found(files, to)
        with locked(files, place) as lock:
            finish(files, place, lock.check_held)
            fewer = compact(spark, files, place, lock.check_held)
    click.echo(f"{fewer:,} files fewer: {to}")
    spark.stop()
