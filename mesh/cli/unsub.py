"""`mesh unsub`: end a durable subscription."""

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.options import say, tell_json


@click.command("unsub")
@click.argument("name")
@options.as_json
@options.url
def command(name: str, as_json: bool, url: str | None) -> None:
    """End the durable subscription NAME for all, with what waits for it.

    That is an error while somebody subscribes, at any node. `mesh queue ls` shows it as sub/NAME.
    """
    name = name.removeprefix("sub/")
    with sync.connect(url) as m:
        m.unsubscribe(name)
    if as_json:
        tell_json({"removed": name})
    else:
        say(f"the durable subscription {name} is removed")
