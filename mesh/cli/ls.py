"""`mesh ls`: lists the nodes and the links to them."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

import click

from mesh import sync
from mesh.cli import figures, options
from mesh.cli.addresses import tell_all
from mesh.cli.options import count, plainly, print_data, size, tell_json
from mesh.cli.sites import tell_sites
from mesh.cli.table import Cell, tell_table
from mesh.cli.tree import tell_tree
from mesh.errors import ONE_MESH, OTHER_SITE
from mesh.local.localnodes import running_nodes
from mesh.local.private import state_dir
from mesh.printable import typed

HEADER = ("NODE", "ADDRESS", "VIA", "STATE", "LINK", "RTT", "CPU", "RAM", "VERSION", "AGE")
TAIL_BACK, QUEUED = "TAIL-BACK", "QUEUED"
UNREACHED = ("no", "partly")  # states of the own address that are remarked
NEAR = 3  # nearby nodes of other meshes to name
DROPPED = ("VERSION", "AGE", "RAM", "CPU", "RTT", "VIA")  # dropped first on a narrow terminal
NOT_LISTED = {"left": "that left", "seen": "only reported by others"}
SCOPES = {
    "mesh": "without a rule, a node is master for its own clients",
    "local": "without a rule, messages with a domain wait for a master",
}


@click.command("ls")
@click.option("--addresses", is_flag=True, help="List served addresses and their nodes instead.")
@click.option("--sites", is_flag=True, help="List other sites and their gateways instead.")
@click.option("--tree", is_flag=True, help="Show the tree of nodes below the masters of a domain instead.")
@click.option(
    "--all", "everyone", is_flag=True, help="Include nodes that left or that are known only from others."
)
@click.argument("what", metavar="[ADDRESS|PATTERN|DOMAIN]", required=False)
@options.url
@options.as_json
def command(
    addresses: bool, sites: bool, tree: bool, everyone: bool, what: str | None, url: str | None, as_json: bool
) -> int:
    """List the nodes. `*` marks the node that was asked.

    \b
    ADDRESS  (local): only the machine of the node can dial it
    VIA    how the node was found: mdns, seed, remembered, gossip, or hello (the node dialed)
    STATE  alive, draining (`mesh drain --clients`), suspect, dead, or conflict (two processes answer
           for the node); with --all also left (on purpose) and seen (known only from others)
    LINK   state of the connection for messages; idle: not needed so far
    CPU, RAM: usage of the whole machine. RTT, AGE: round trip to the node, time since the last contact.

    TAIL-BACK (only if messages wait): the messages that wait at the asked node for the listed node, and the
    age of the oldest. QUEUED (only if messages are queued): the messages in queues at the listed node.

    With --addresses: the served addresses with their nodes and numbers of servers; all, or one ADDRESS, or
    those that match a PATTERN such as 'calc/#'. Exit code 1: nothing matches ADDRESS or PATTERN.

    With --tree: the masters of DOMAIN, or of each domain in the rules, and below each node the nodes that
    forward to it, as each node reports. STRATUM: hops to the master; LATENCY: time of a message over these
    hops; RULE: the rule that applies; NOT BY: other candidates, and why they are not used. Exit code 1: a
    node has no route.
    """
    if what is not None and not (addresses or tree):
        raise click.UsageError(
            f"Unexpected argument {what!r:.80}: an ADDRESS requires --addresses, a DOMAIN requires --tree."
        )
    if addresses + sites + tree > 1:
        raise click.UsageError("Give only one of --addresses, --sites and --tree.")
    with sync.connect(url) as m:
        if addresses:
            return tell_all(m, what, as_json)
        if sites:
            return tell_sites(m, as_json)
        if tree:
            return tell_tree(m, what, as_json)
        found = m.call("ls")
    _tell_nodes(found, everyone, as_json)
    return 0


def _tell_nodes(found: dict[str, Any], everyone: bool, as_json: bool) -> None:
    absent = [node for node in found["nodes"] if not everyone and not figures.is_listed(node)]
    found["nodes"] = [node for node in found["nodes"] if node not in absent]
    if as_json:
        tell_json(found)
        return
    nodes = found["nodes"]
    waits = any(figures.tailback(node)["messages"] for node in nodes)
    queued = any(node.get("queued") for node in nodes)
    header = (*HEADER, *([TAIL_BACK] if waits else []), *([QUEUED] if queued else []))
    outside = figures.has_outside(nodes)
    tell_table(header, [_row(node, waits, queued, outside) for node in nodes], folded="LINK", dropped=DROPPED)
    print_data(["", *remarks(found, running_nodes(state_dir(os.environ))), *_not_listed(absent)])


def remarks(found: dict[str, Any], here: Sequence[dict[str, Any]] = ()) -> list[str]:
    """Return the remarks below the table; `here` lists this user's nodes on this machine."""
    scope = found["scope"]
    said = [f"default-scope {scope}: {SCOPES[scope]}"]
    if found.get("links") == "configured":
        said.append("links configured: only nodes in its mesh.toml are linked")
    unknown = found.get("unknown", figures.NOTHING)
    if unknown["messages"]:
        what = f"{count(unknown['messages'], 'message')} ({size(unknown['bytes'])})"
        said += [
            f"messages without a known master: {what}, for up to {plainly(unknown['age'])}",
            "  the reason:  mesh route KEY --domain NAME      mesh route --to DESTINATION",
        ]
    if found.get("reachable") in UNREACHED:
        said += [
            f"address of this node: {found['reachability']}",
            f"  what to do:  mesh why node {typed(found['nodes'][0]['name'])}",
        ]
    if near := found.get("near"):
        who = ", ".join(f"{name} at {address}" for name, address in near[:NEAR])
        said += [
            f"another mesh with other keys is on this network: {who}",
            f"  {OTHER_SITE if found.get('has_sites') else ONE_MESH}",
        ]
    if len(found["nodes"]) == 1:
        said += _alone(found, here)
    return said


def _not_listed(absent: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield how many nodes are not listed, and how to list them."""
    if absent:
        states = [node["state"] for node in absent]
        said = (f"{count(states.count(s), 'node')} {w}" for s, w in NOT_LISTED.items() if s in states)
        yield f"not listed: {', '.join(said)}.  To list them:  mesh ls --all"


def _alone(found: dict[str, Any], here: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield why no other node is visible, and how to add one."""
    address = found["nodes"][0]["address"]
    if strange := _other_keys(found, here):
        names = ", ".join(node["name"] for node in strange)
        if found.get("keys"):
            yield f"Restart these nodes, which run here without keys:  {names}"
        else:
            yield f"Restart this node, because these run here with keys:  {names}"
    yield "Only this node is visible. To add one on this machine:  mesh up --id NAME"
    if address:
        yield f"  if it is not found, run there:  mesh peer add {typed(address)}"
    if found.get("keys"):  # an older release does not send it
        yield "  on another machine:  mesh join, then mesh up      its token:  mesh token"
    else:
        yield "  nodes on other machines require keys:  mesh init"


def _other_keys(found: dict[str, Any], here: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return nodes of the same mesh here that have keys while the asked node has none, or vice versa."""
    asked = next((node for node in here if node["uuid"] == found["nodes"][0]["uuid"]), None)
    if asked is None:
        return []
    return [n for n in here if (n["cluster"], n["keyed"]) == (asked["cluster"], not asked["keyed"])]


def _row(node: dict[str, Any], waits: bool, queued: bool, outside: bool) -> tuple[Cell, ...]:
    is_self = figures.is_self(node)
    row: tuple[Cell, ...] = (
        figures.name(node),
        figures.marked_address(node, outside),
        node["via"],
        figures.state(node),
        node["link"] or "-",
        figures.seconds(node["rtt"]),
        figures.percent(figures.cpu(node)),
        figures.percent(figures.ram(node)),
        figures.version(node),
        "-" if is_self else plainly(node["age"]),
    )
    if waits:
        row = (*row, figures.queued(figures.tailback(node)))
    return (*row, figures.number(node.get("queued"))) if queued else row
