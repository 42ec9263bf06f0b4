"""`mesh report`: what has happened, in pictures."""

from pathlib import Path

import click

from mesh.cli import gathering, options, spark_child
from mesh.errors import LocalError


@click.command("report")
@click.option("--since", metavar="TIME", help="Only what is newer: 12h, 1d, 30m, or 2026-11-21T09:00 (UTC).")
@click.option("--until", metavar="TIME", help="Only what is older.")
@click.option("--html", metavar="FILE", help="Write a page with charts, all in one file, for any browser.")
@options.as_json
@click.option("--json-to", metavar="FILE", help="Write that JSON document to a file, besides the rest.")
@click.option("--no-ingest", is_flag=True, help="Only what is gathered already.")
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
    """Show how busy the nodes were, who got how much, who came and went, what waits, and what stands out.

    Gathers first what the nodes of this machine wrote down (see `mesh ingest`). It is a Spark job, and needs
    `pip install 'heronry[spark]'` and Java 17 or newer.
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
    """None is enough, if something was gathered before."""
    try:
        return gathering.places(given)
    except LocalError as error:
        if error.code != gathering.NONE or not Path(history).is_dir():
            raise
        return []
