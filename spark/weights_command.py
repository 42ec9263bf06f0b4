"""The command `weights`, which learns the weights of nodes for balancing."""

import json
import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
from pyspark.sql import DataFrame
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mesh.history import options, reading, writing
from mesh.history.errors import SparkJobError
from mesh.history.failures import in_words
from mesh.history.printable import visible
from mesh.history.progress import Progress
from mesh.history.session import session
from mesh.history.views import clocks
from mesh.history.views.rows import of_kind
from mesh.history.weights import Learnt, as_file, learn

WIDE = 10_000  # columns without a terminal: nothing is wrapped for programs


@click.command("weights")
@options.to
@click.option(
    "--since",
    type=options.Moment(),
    default="7d",
    show_default=True,
    metavar="TIME",
    help="Start at TIME: 30m, 12h or 7d (before now), or 2026-11-21T08:00 (UTC).",
)
@options.until
@click.option(
    "--half-life",
    type=options.Span(),
    default="1d",
    show_default=True,
    metavar="SPAN",
    help="Halve the influence of data for each SPAN of its age.",
)
@click.option(
    "--expires",
    type=options.Span(),
    default="7d",
    show_default=True,
    metavar="SPAN",
    help="Expire the weights after SPAN; nodes then ignore them.",
)
@click.option("--cluster", metavar="NAME", help="Name of the mesh, if the history has several.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default="weights.json",
    show_default=True,
    metavar="FILE",
    help="Write the weights to FILE.",
)
@options.spark
def command(
    to: str,
    since: datetime,
    until: datetime | None,
    half_life: timedelta,
    expires: timedelta,
    cluster: str | None,
    out: Path,
    master: str | None,
    conf: Mapping[str, str],
) -> None:
    """Learn the weight of each node from the history, and write a file for `mesh weights apply`.

    A typical node has weight 1, the others from 0.25 to 4: more for nodes that answered faster than the
    typical one and had more capacity. Nodes with too little history have weight 1.
    """
    if half_life <= timedelta() or expires <= timedelta():
        option = "--half-life" if half_life <= timedelta() else "--expires"
        raise click.UsageError(f"{option} must be longer than 0.")
    writing.check(out, "--out")
    made = datetime.now(UTC)
    spark = session("heronry weights", master, conf)
    with Progress(spark, "learning"), in_words(to):
        rows = reading.history(spark, to, since, until)
        mesh = cluster or the_cluster(rows, to)
        learnt = learn(clocks.aligned(rows.where(rows.cluster == mesh)), half_life.total_seconds())
    if not learnt:
        what = f"No node of the mesh {mesh} has data in {to} for the selected time."
        hint = "Check the name of the mesh, or start earlier, for example:  --since 30d"
        raise SparkJobError(what, hint, "EMPTY_HISTORY")
    file = as_file(learnt, cluster=mesh, made=made, expires=made + expires, since=since, until=until or made)
    writing.write(out, json.dumps(file, indent=1, ensure_ascii=False) + "\n", "--out")
    console = Console(highlight=False)
    (console if console.is_terminal else Console(highlight=False, width=WIDE)).print(table(learnt))
    click.echo(f"\n{out} is valid until {file['expires']}. To apply it:  mesh weights apply {quoted(out)}")


def the_cluster(history: DataFrame, place: str) -> str:
    """Return the name of the only mesh with states. Raises: SparkJobError EMPTY_HISTORY, SEVERAL_CLUSTERS."""
    states = of_kind(history, "state").select("cluster").distinct()
    found = sorted(row.cluster for row in states.collect() if row.cluster is not None)
    if not found:
        what = f"No node has data in {place} for the selected time."
        hint = "Select more time, for example:  --since 30d, without --until"
        raise SparkJobError(what, hint, "EMPTY_HISTORY")
    if len(found) > 1:
        what = f"{place} has the history of several meshes: {', '.join(found)}."
        raise SparkJobError(
            what, f"Choose one of them:  --cluster {shlex.quote(found[0])}", "SEVERAL_CLUSTERS"
        )
    return str(found[0])


def table(learnt: Sequence[Learnt]) -> Table:
    """Return a table for the terminal, the highest weight first."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column("NODE", no_wrap=True)
    for title in ("WEIGHT", "ANSWERS", "LATENCY", "CAPACITY"):
        made.add_column(title, justify="right", no_wrap=True)
    made.add_column("REASON", overflow="fold")
    for it in sorted(learnt, key=lambda it: (-it.weight, it.node)):
        latency = "" if it.latency_ms is None else f"{it.latency_ms:,.1f} ms"
        capacity = "" if it.capacity is None else f"{it.capacity:,.0f}/s"
        figures = f"{it.weight:g}", f"{it.answers:,}", latency, capacity
        made.add_row(*map(Text, (visible(it.node), *figures, visible(it.reason))))
    return made


def quoted(path: Path) -> str:
    return shlex.quote(str(path))
