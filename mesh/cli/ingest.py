"""`mesh ingest`: gather what the nodes wrote down."""

import click

from mesh.cli import gathering, options, spark_child


@click.command("ingest")
@gathering.sources
@gathering.history
@click.option("--every", metavar="SECONDS", help="Go on, with what has come since, until Ctrl-C.")
@click.option("--continuous", is_flag=True, help="Go on, as soon as something comes, until Ctrl-C.")
@click.option("--batch", metavar="MIB", help="Read so much at a time: less takes less memory and more time.")
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
    """Gather what the nodes wrote down of the mesh into one history: Parquet, for reports and for SQL.

    Every line counts once, however often it is gathered and whoever heard it. It is a Spark job, and needs
    `pip install 'heronry[spark]'` and Java 17 or newer.
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
