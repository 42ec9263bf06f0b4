"""`compact`: make few large files of many small ones."""

from collections.abc import Mapping

import click
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from spark import options
from spark.compaction import compact, finish
from spark.failures import explained
from spark.files import Files, address
from spark.lock import locked
from spark.progress import Progress
from spark.session import session


@click.command("compact")
@options.to
@options.spark
def command(to: str, master: str | None, conf: Mapping[str, str]) -> None:
    """Make few large files of the many small ones of a history. `ingest` does so at its end, too."""
    spark = session("mesh compact", master, conf)
    files, place = Files(spark), address(to)
    try:
        with Progress(spark, "compact"), locked(files, place):
            finish(files, place)
            fewer = compact(spark, files, place)
    except (PySparkException, Py4JJavaError) as error:
        raise explained(error, place) from error
    click.echo(f"{fewer:,} files fewer: {to}")
    spark.stop()
