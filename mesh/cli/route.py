"""`mesh route`: where would a message go, and why?"""

from collections.abc import Mapping

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.addresses import tell_servers
from mesh.cli.completing import complete_topics
from mesh.cli.options import say, tell_json
from mesh.cli.table import tell_table
from mesh.names import CLIENT, OTHERS, kind_of
from mesh.sites.letters import WAY, split

GOES = {"forward": "forward to", "wait": "wait for"}


@click.command("route")
@click.argument("key", required=False, default="", shell_complete=complete_topics)
@options.domain
@click.option(
    "--to", metavar="DESTINATION", default="", help="Of a message to this session, client or address."
)
@click.option("--from", "node", metavar="NODE", default="", help="Where it sets out. Default: the node here.")
@options.as_json
@options.url
def command(key: str, domain: str | None, to: str, node: str, as_json: bool, url: str | None) -> int:
    """Say where a message under KEY would go, if it were published now. Nothing is sent.

    One line for each node on the way: what it would do, and by which rule. Exit code 0 when the last of
    them would take it, or give it to another site; 1 when it would wait or be refused.

    Of a message to an address, such as --to calc/add: one line for each node where it is served, those first
    to which the next messages would go. SERVERS: how many there; UNDER WAY: what was sent there from here
    and nobody there has begun with; BEGUN IN: how soon somebody did, of late. Exit code 1 if nobody serves
    it. Of one in another site, such as --to /site/NYC/calc/add: whether it would go there.
    """
    if not (key or domain or to):
        raise click.UsageError("Give a KEY, --domain or --to.")
    is_address = bool(to) and kind_of(to) != CLIENT
    if is_address and (key or domain or node):
        raise click.UsageError("For an address --to and --url are enough: whoever is asked chooses.")
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
        say(f"mesh: it would not get there now.  Who can be reached:  {verb}")
    return 0 if arrives else 1


def is_last(step: Mapping[str, str]) -> bool:
    """Has it arrived there, as far as this site can say?"""
    return step["decision"] == "here" or (step["decision"] == "forward" and step["next"].startswith(WAY))


def row(step: Mapping[str, str]) -> tuple[str, str, str]:
    """Node, what it does, and why."""
    does = GOES.get(step["decision"])
    whom = step["next"] or "a master that nobody knows"
    return step["node"], f"{does} {whom}" if does else step["decision"], step["why"]
