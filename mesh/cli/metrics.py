"""`mesh metrics`: prints the figures of a node in the format of Prometheus."""

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
@click.option(
    "--token",
    "wants_token",
    is_flag=True,
    help="Print the path of the token file for /metrics, which is created if missing.",
)
@options.url
def command(wants_token: bool, url: str | None) -> None:
    """Print a node's metrics in the format of its /metrics endpoint, without the metrics of its process.

    \b
      mesh metrics | grep mesh_queue
      mesh metrics > /var/lib/node_exporter/mesh.prom
    """
    if wants_token:
        state = state_dir(os.environ)
        token_of(state, None)
        click.echo(state / FILE)
        return
    from mesh.metrics.exposition import exposed  # needs an optional library

    with sync.connect(url) as m:
        info = read_result(Info, m.call("info"))
        queues = read_result(QueueRows, m.call("queue_ls", here=True, limit=QUEUES))
        addresses = addresses_of(m)
    found = families(info, queues.queues, addresses)
    click.echo(exposed(found), nl=False)


def addresses_of(m: sync.Client) -> list[FaredRow]:
    """Return the figures of requests by address; empty for a node of an older release."""
    try:
        return read_result(FaredRows, m.call("fared")).addresses
    except MeshError as error:
        if error.code == UNKNOWN:
            return []
        raise
