"""The command `set-aside`, which sets a damaged file of a history aside."""

from collections.abc import Mapping

import click

from mesh.history import options
from mesh.history.aside import part_of, set_aside
from mesh.history.failures import in_words
from mesh.history.files import Files, address
from mesh.history.lock import locked
from mesh.history.progress import Progress
from mesh.history.reading import found
from mesh.history.session import session


@click.command("set-aside")
@click.argument("file")
@options.to
@options.spark
def command(file: str, to: str, master: str | None, conf: Mapping[str, str]) -> None:
    """Move FILE, a damaged file of a history, aside; the next ingest reads its rows again.

    Rows of segments that the nodes have deleted are only in FILE, which is kept below _damaged.
    """
    part = part_of(address(to), file)
    spark = session("mesh set-aside", master, conf)
    files = Files(spark)
    with Progress(spark, "set-aside"), in_words(to):
        place = found(files, to)
        with locked(files, place) as lock:
            target = set_aside(spark, files, place, part, lock.check_held)
    click.echo(f"Set aside: {target}\nThe next ingest restores its rows from segments that still exist.")
    spark.stop()
