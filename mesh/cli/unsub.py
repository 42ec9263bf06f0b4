"""`mesh unsub`: end a durable subscription."""

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.options import say, tell_json


@click.command("unsub")
@click.argument("name")
@click.option("--force", is_flag=True, help="Also while somebody subscribes, or nodes are away.")
@options.as_json
@options.url
def command(name: str, force: bool, as_json: bool, url: str | None) -> None:
    """End the durable subscription NAME for all, with what waits for it.

    That is an error while somebody subscribes, at any node, or a node is away where somebody may. `mesh queue
    ls` shows it as sub/NAME.
    """
    name = name.removeprefix("sub/")
    with sync.connect(url) as m:
        m.unsubscribe(name, if_unused=not force)
    if as_json:
        tell_json({"removed": name})
    else:
        say(f"the durable subscription {name} is removed")
