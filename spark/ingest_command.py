"""The command `ingest`, which reads snapshots of nodes into a history."""

import json
import signal
from collections.abc import Mapping
from dataclasses import asdict
from types import FrameType

import click

from mesh.history import options
from mesh.history.ingest import BATCH, Ingest
from mesh.history.intake import Ingested
from mesh.history.progress import Progress
from mesh.history.session import session

OFTEN = 1.0  # s between two batches of a continuous stream


@click.command("ingest")
@options.sources
@options.to
@click.option(
    "--every",
    type=options.Number(min=0.1, max=86400),
    metavar="SECONDS",
    help="Repeat every SECONDS until Ctrl-C. Default: once.",
)
@click.option("--continuous", is_flag=True, help="Gather new snapshots as they appear, until Ctrl-C.")
@click.option(
    "--batch",
    type=click.IntRange(1, 1 << 20),
    default=BATCH,
    show_default=True,
    metavar="MIB",
    help="Read MIB mebibytes at a time; a smaller number needs less memory but more time.",
)
@options.as_json
@options.spark
def command(
    sources: tuple[str, ...],
    to: str,
    every: float | None,
    continuous: bool,
    batch: int,
    as_json: bool,
    master: str | None,
    conf: Mapping[str, str],
) -> None:
    """Read the snapshots of nodes into a history.

    Lines that the history already has are skipped, so the command can be repeated.
    """
    if not sources:
        raise click.UsageError("Name the snapshots with --from PLACE, which can be repeated.")
    spark = session("mesh ingest", master, conf)
    job = Ingest(spark, sources, to, batch=batch, tell=lambda text: click.echo(text, err=True))

    def stop(number: int, frame: FrameType | None) -> None:
        click.echo("Ends after the current batch.", err=True)
        job.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    pause = OFTEN if continuous else every
    with Progress(spark, "ingest"):
        done = job.once() if pause is None else job.again_and_again(pause)
    click.echo(json.dumps(asdict(done)) if as_json else in_words(done, to))
    spark.stop()


def in_words(done: Ingested, to: str) -> str:
    """Return the result of an ingest as a sentence for the user."""
    parts = [f"{done.rows:,} new rows of {done.segments:,} segments"]
    if done.repeated:
        parts.append(f"{done.repeated:,} lines were duplicates")
    if done.quarantined:
        parts.append(f"{done.quarantined:,} in quarantine (kind=quarantine, with the reason)")
    return f"{', '.join(parts)}, in {done.seconds:.0f} s: {to}"
