"""`mesh unsub`: ends a durable subscription."""

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.options import print_message, tell_json


@click.command("unsub")
@click.argument("name")
@click.option(
    "--force", is_flag=True, help="End the subscription even if it has consumers, or nodes are unreachable."
)
@options.as_json
@options.url
def command(name: str, force: bool, as_json: bool, url: str | None) -> None:
    """End the durable subscription NAME for all clients, and discard its messages.

    Without --force, the command fails if the subscription has a consumer, or if an unreachable node may have
    one. `mesh queue ls` lists the subscription as sub/NAME.
    """
    name = name.removeprefix("sub/")
    with sync.connect(url) as m:
        m.unsubscribe(name, if_unused=not force)
    if as_json:
        tell_json({"removed": name})
    else:
        print_message(f"durable subscription {name} was removed")
