"""`mesh route`: where would a message go, and why?"""

from collections.abc import Mapping

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.options import say, tell_json
from mesh.cli.table import tell_table

GOES = {"forward": "forward to", "wait": "wait for"}


@click.command("route")
@click.argument("key", required=False, default="")
@options.domain
@click.option("--to", metavar="DESTINATION", default="", help="Of a message to this session or client.")
@click.option("--from", "node", metavar="NODE", default="", help="Where it sets out. Default: the node here.")
@options.as_json
@options.url
def command(key: str, domain: str | None, to: str, node: str, as_json: bool, url: str | None) -> int:
    """Say where a message under KEY would go, if it were published now. Nothing is sent.

    One line for each node on the way: what it would do, and by which rule. Exit code 0 when the last of
    them would take it, 1 when it would wait or be refused.
    """
    if not (key or domain or to):
        raise click.UsageError("Give a KEY, --domain or --to.")
    with sync.connect(url) as m:
        steps = m.route(key, domain=domain, to=to, node=node)
    if as_json:
        tell_json(steps)
    else:
        tell_table((), map(row, steps))
    arrives = bool(steps) and steps[-1]["decision"] == "here"
    if not arrives and not as_json:
        say("mesh: it would not get there now.  Who can be reached:  mesh ls")
    return 0 if arrives else 1


def row(step: Mapping[str, str]) -> tuple[str, str, str]:
    """Node, what it does, and why."""
    does = GOES.get(step["decision"])
    whom = step["next"] or "a master that nobody knows"
    return step["node"], f"{does} {whom}" if does else step["decision"], step["why"]
