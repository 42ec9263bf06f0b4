"""`mesh ingest`: gathers the snapshots of nodes into a history."""

import click

from mesh.cli import gathering, options
from mesh.features.history.cli import spark_child


@click.command("ingest")
@gathering.sources
@gathering.history
@click.option("--every", metavar="SECONDS", help="Repeat every SECONDS until Ctrl-C. Default: once.")
@click.option("--continuous", is_flag=True, help="Gather new snapshots as they appear, until Ctrl-C.")
@click.option(
    "--batch",
    metavar="MIB",
    help="Read MIB mebibytes at a time; a smaller number needs less memory but more time. Default: 4096.",
)
@options.as_json
@gathering.master
@gathering.conf
def command(
    given: tuple[str, ...],
    to: str | None,
    every: str | None,
    continuous: bool,
    batch: str | None,
    as_json: bool,
    master: str | None,
    conf: tuple[str, ...],
) -> int:
    """Gather the snapshots of nodes into one history of Parquet files, for reports and SQL.

    Every line counts once, however often it is gathered. The command runs a Spark job, and needs `pip install
    'heronry[spark]'` and Java 17 or newer.
    """
    arguments = gathering.to_spark(
        from_=gathering.places(given),
        to=gathering.history_place(to),
        every=every,
        batch=batch,
        master=master,
        conf=conf,
    )
    flags = [name for name, wanted in (("--continuous", continuous), ("--json", as_json)) if wanted]
    return spark_child.run("ingest", [*arguments, *flags])
