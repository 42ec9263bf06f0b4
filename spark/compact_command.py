"""The command `compact`, which merges small files."""

from collections.abc import Mapping

import click

from spark import options
from spark.compaction import compact, finish
from spark.failures import in_words
from spark.files import Files
from spark.lock import locked
from spark.progress import Progress
from spark.reading import found
from spark.session import session


@click.command("compact")
@options.to
@options.spark
def command(to: str, master: str | None, conf: Mapping[str, str]) -> None:
    """Merge the many small files of a history into few large ones.

    `ingest` does so at its end, too.
    """
    spark = session("mesh compact", master, conf)
    files = Files(spark)
    with Progress(spark, "compact"), in_words(to):
        place = found(files, to)
        with locked(files, place) as lock:
            finish(files, place, lock.check)
            fewer = compact(spark, files, place, lock.check)
    click.echo(f"{fewer:,} files fewer: {to}")
    spark.stop()
