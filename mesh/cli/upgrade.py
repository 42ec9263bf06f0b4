"""`mesh upgrade --check`: prints the order of restarts for an upgrade, and what prevents it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import click
from msgspec import convert

from mesh import __version__, sync
from mesh.cli import options
from mesh.cli.options import print_message, tell_json
from mesh.cli.table import tell_table
from mesh.wire.replies import NodeRow

DOWN = ("dead", "left", "seen", "conflict")
PARTS = 2  # numbers that name a release, such as 1.4 of 1.4.2
Release = tuple[int, ...]


class Planned(NamedTuple):
    """A node in the plan. `order` is 0 for a node that is not to be restarted."""

    node: str
    release: str
    order: int
    why: str
    refused: str = ""  # reason why `mesh drain --clients` or the new release would refuse


def plan(nodes: Sequence[NodeRow], target: str) -> list[Planned]:
    """Return the nodes in the order of their restart, and then nodes that are not restarted.

    Nodes that only forward come first, then masters, and then nodes with messages in queues; of each kind the
    one with least work. `target` is the release of the command; a newer one in the mesh counts instead.
    """
    alive = [node for node in nodes if node.state not in DOWN]
    releases = [release_of(node.software) for node in alive]
    newest = max([_numbers(target), *filter(None, releases)])
    is_mixed = any(release and release < newest for release in releases)
    waiting = [node for node in alive if not (is_mixed and release_of(node.software) == newest)]
    ordered = sorted(waiting, key=lambda node: (_kind(node), _work(node), node.name))
    found = [
        Planned(node.name, node.software or "", n, _why(node), _refused(node, newest, len(alive)))
        for n, node in enumerate(ordered, start=1)
    ]
    found += [
        Planned(node.name, node.software or "", 0, "it has the newest release already")
        for node in alive
        if node not in waiting
    ]
    return found + [
        Planned(node.name, node.software or "", 0, f"down ({node.state}): messages for it wait")
        for node in nodes
        if node.state in DOWN and node.state != "left"
    ]


def release_of(software: str | None) -> Release:
    """Return the numbers that name the release in such a text as "heronry 1.4.2"; () if there are none."""
    return _numbers((software or "").rpartition(" ")[2])


def _numbers(version: str) -> Release:
    found: list[int] = []
    for part in version.split(".")[:PARTS]:
        if not (part.isascii() and part.isdigit()):
            break
        found.append(int(part))
    return tuple(found)


def is_too_old(release: Release, newest: Release) -> bool:
    """Return whether a node cannot work together with the newest release: only the one before it can.

    The last release of the major version before is not known, so any of them is accepted.
    """
    if len(release) < PARTS or len(newest) < PARTS:
        return False
    if release[0] == newest[0]:
        return newest[1] - release[1] > 1
    return newest[0] - release[0] > 1 or newest[1] > 0


def _kind(node: NodeRow) -> int:
    return 2 if node.queued else 1 if node.published else 0


def _work(node: NodeRow) -> float:
    return float(node.queued or node.published or node.sessions or 0)


def _why(node: NodeRow) -> str:
    if node.queued:
        return f"its queues hold {node.queued:,} messages, which have to move"
    if node.published:
        return f"it is a master: it accepts {node.published:,.1f} messages a second"
    if node.published is None:
        return "its load is not known"
    return "it only forwards: nothing waits for it"


def _refused(node: NodeRow, newest: Release, alive: int) -> str:
    if is_too_old(release_of(node.software), newest):
        text = ".".join(map(str, newest))
        return f"more than one release older than {text}: install the release in between first"
    if node.moves is False:
        return "its release lacks the feature `sessions`: its clients wait for it while it restarts"
    if alive < 2:
        return "it is the only node: its clients wait for it while it restarts"
    return ""


@click.command("upgrade")
@click.option("--check", "is_check", is_flag=True, help="Print the plan; nothing is changed.")
@options.as_json
@options.url
def command(is_check: bool, as_json: bool, url: str | None) -> int:
    """Print the release of each node, the order of the restarts, and the problems of an upgrade.

    Restart one node after the other, with `mesh drain --clients --then COMMAND`. Exit code 1: something would
    be refused.
    """
    if not is_check:
        raise click.UsageError("Give --check: nodes are upgraded by their package or service manager.")
    with sync.connect(url) as m:
        found = plan(convert(m.call("ls")["nodes"], list[NodeRow]), __version__)
    if as_json:
        tell_json([each._asdict() for each in found])
    else:
        _tell(found)
    return 1 if any(each.refused for each in found) else 0


def _tell(found: Sequence[Planned]) -> None:
    rows: list[tuple[Any, ...]] = [
        (str(each.order or "-"), each.node, each.release or "?", each.why, each.refused) for each in found
    ]
    tell_table(("ORDER", "NODE", "RELEASE", "WHY", "REFUSED"), rows, folded="WHY")
    if any(each.refused for each in found):
        print_message("some nodes would be refused: see the column REFUSED")
