"""`mesh route`: shows which route a message would take, and why."""

from collections.abc import Mapping

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.addresses import tell_servers
from mesh.cli.completing import complete_topics
from mesh.cli.options import print_message, tell_json
from mesh.cli.table import tell_table
from mesh.names import CLIENT, OTHERS, kind_of
from mesh.remote_names import WAY, split

GOES = {"forward": "forward to", "wait": "wait for"}


@click.command("route")
@click.argument("key", required=False, default="", shell_complete=complete_topics)
@options.domain
@click.option(
    "--to",
    metavar="DESTINATION",
    default="",
    help="Route a direct message to this session, client or address.",
)
@click.option("--from", "node", metavar="NODE", default="", help="Start at NODE. Default: the node of --url.")
@options.as_json
@options.url
def command(key: str, domain: str | None, to: str, node: str, as_json: bool, url: str | None) -> int:
    """Show the route that a message under KEY would take now. Nothing is sent.

    Each node on the route has a line with its decision and the rule. Exit code 0: the last node would accept
    the message, or forward it to another site. Exit code 1: the message would wait or be refused.

    For an address, such as --to calc/add, each node that serves it has a line, the next destinations first.
    SERVERS: number of servers at that node; UNDER WAY: requests from the asked node that no server has begun;
    BEGUN IN: recent time until a server began a request. Exit code 1: the address has no server. For another
    site, such as --to /site/NYC/calc/add, the command shows whether the message would go to that site.
    """
    if not (key or domain or to):
        raise click.UsageError("Give KEY, --domain or --to.")
    is_address = bool(to) and kind_of(to) != CLIENT
    if is_address and (key or domain or node):
        what = f"For --to {to!r:.80}, omit KEY, --domain and --from: the route starts at the node of --url."
        raise click.UsageError(what)
    with sync.connect(url) as m:
        site, address = split(to) if is_address else ("", "")
        if is_address and (not site or site == m.call("sites", limit=1)["site"]):
            return tell_servers(m, address, as_json)
        steps = m.route(key, domain=domain, to=to, node=node)
    if as_json:
        tell_json(steps)
    else:
        tell_table((), map(row, steps))
    arrives = bool(steps) and is_last(steps[-1])
    if not arrives and not as_json:
        verb = "mesh ls --sites" if to.startswith(OTHERS) else "mesh ls"
        print_message(f"mesh: the message would not arrive now.  To see what is reachable:  {verb}")
    return 0 if arrives else 1


def is_last(step: Mapping[str, str]) -> bool:
    """Return whether the route ends here, as far as this site knows."""
    return step["decision"] == "here" or (step["decision"] == "forward" and step["next"].startswith(WAY))


def row(step: Mapping[str, str]) -> tuple[str, str, str]:
    """Return the node, its decision, and the reason."""
    does = GOES.get(step["decision"])
    whom = step["next"] or "an unknown master"
    return step["node"], f"{does} {whom}" if does else step["decision"], step["why"]
