"""`mesh metrics`: the figures of a node as Prometheus reads them."""

import os

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.top_queues import UNKNOWN
from mesh.errors import MeshError
from mesh.local.private import state_dir
from mesh.metrics.families import QUEUES, families
from mesh.shell.http.place import FILE, token_of
from mesh.wire.replies import FaredRow, FaredRows, Info, QueueRows, read_result


@click.command("metrics")
@click.option("--token", "wants_token", is_flag=True, help="The file of the token that /metrics wants.")
@options.url
def command(wants_token: bool, url: str | None) -> None:
    """Print a node's metrics as text, as its /metrics does (http.listen), but for those of its process.

    \b
      mesh metrics | grep mesh_queue
      mesh metrics > /var/lib/node_exporter/mesh.prom
    """
    if wants_token:
        state = state_dir(os.environ)
        token_of(state, None)
        click.echo(state / FILE)
        return
    from mesh.metrics.exposition import exposed  # with a library that few have

    with sync.connect(url) as m:
        info = read_result(Info, m.call("info"))
        queues = read_result(QueueRows, m.call("queue_ls", here=True, limit=QUEUES))
        addresses = addresses_of(m)
    found = families(info, queues.queues, addresses)
    click.echo(exposed(found), nl=False)


def addresses_of(m: sync.Client) -> list[FaredRow]:
    """How what is sent to addresses fares; nothing of a node of the last release, which does not say."""
    try:
        return read_result(FaredRows, m.call("fared")).addresses
    except MeshError as error:
        if error.code == UNKNOWN:
            return []
        raise
