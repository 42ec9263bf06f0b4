"""`mesh report`: reports the history of the mesh, with charts."""

from pathlib import Path

import click

from mesh.cli import gathering, options
from mesh.errors import LocalError
from mesh.features.history.cli import spark_child


@click.command("report")
@click.option(
    "--since",
    metavar="TIME",
    help="Start at TIME: 30m, 12h or 1d (before now), or 2026-11-21T09:00 (UTC). Default: the beginning.",
)
@click.option("--until", metavar="TIME", help="End at TIME. Default: now.")
@click.option("--html", metavar="FILE", help="Write a self-contained HTML page with charts to FILE.")
@options.as_json
@click.option("--json-to", metavar="FILE", help="Also write the JSON document to FILE.")
@click.option("--no-ingest", is_flag=True, help="Report without gathering new snapshots first.")
@gathering.sources
@gathering.history
@gathering.master
@gathering.conf
def command(
    since: str | None,
    until: str | None,
    html: str | None,
    as_json: bool,
    json_to: str | None,
    no_ingest: bool,
    given: tuple[str, ...],
    to: str | None,
    master: str | None,
    conf: tuple[str, ...],
) -> int:
    """Report load, distribution of work, nodes that joined and left, waiting messages, and anomalies.

    The snapshots of this machine's nodes are gathered first (see `mesh ingest`). The command runs a Spark
    job, and needs `pip install 'heronry[spark]'` and Java 17 or newer.
    """
    place = gathering.history_place(to)
    arguments = gathering.to_spark(
        from_=[] if no_ingest else _sources(given, place),
        to=place,
        since=since,
        until=until,
        html=html,
        json_to=json_to,
        master=master,
        conf=conf,
    )
    return spark_child.run("report", [*arguments, *(["--json"] if as_json else [])])


def _sources(given: tuple[str, ...], history: str) -> list[str]:
    """Return the places to gather snapshots from.

    If there are no snapshots but the history exists, or is an address, the list is empty.
    Raises: LocalError.
    """
    try:
        return gathering.places(given)
    except LocalError as error:
        if error.code != gathering.NONE or not ("://" in history or Path(history).is_dir()):
            raise
        return []
