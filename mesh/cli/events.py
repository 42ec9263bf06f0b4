"""`mesh events`: prints the events that a node saw."""

import json
import os
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.options import count, print_message
from mesh.errors import BadArgument, BadName, MeshTimeout, NodeNotFound
from mesh.local.datadir import kept_identity
from mesh.local.localnodes import check_node_name, running_nodes
from mesh.local.past import events as past
from mesh.local.private import state_dir
from mesh.printable import harmless

KINDS = (
    "joined", "suspect", "alive", "dead", "left", "restarted", "moved", "conflict", "link", "refused",
    "advert", "mdns", "interfaces", "peer", "snapshots", "weights", "disk", "settings", "rules", "queue",
    "durable", "clock", "near", "site", "site-up", "site-down", "site-unreachable", "view",
    "unreachable", "reachable", "session", "transaction",
)  # fmt: skip
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}  # s
LONGEST = 100 * 365 * 86400.0  # s
PAUSE = 0.5  # s between two questions with --follow

EventFields = dict[str, Any]


@click.command("events")
@click.option("--follow", "-f", is_flag=True, help="Also print new events, until Ctrl-C.")
@click.option(
    "--count",
    "most",
    type=click.IntRange(min=1),
    metavar="N",
    help="Print the newest N events; with --follow, end after N. Default: all.",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(KINDS),
    metavar="KIND",
    help=f"Print events of KIND: {', '.join(KINDS)}. Can be repeated. Default: all.",
)
@click.option(
    "--since",
    metavar="TIME",
    help="Print the events that a node of this machine recorded since TIME, such as 90s, 2h, 3d or "
    "2026-01-31T12:00, including earlier runs. Default: this run.",
)
@options.json_lines
@options.url
def command(
    follow: bool, most: int | None, kinds: tuple[str, ...], since: str | None, as_json: bool, url: str | None
) -> None:
    """Print what happened in the mesh, as one node saw it: nodes that joined, left or were refused, and why.

    The newest event is last. A node keeps its last 1,024 events until it stops. Its snapshots, which --since
    reads, keep events for as long as they fit in snapshots.limit_bytes.
    """
    if since is not None:
        if follow:
            raise click.UsageError("Give either --follow or --since, not both.")
        found = [event for event in written(url, moment(since)) if not kinds or event["kind"] in kinds]
        for event in found[-most:] if most else found:
            _print(event, as_json)
        return
    with sync.connect(url) as m:
        if follow:
            options.tell_of_connection(m)
            for event in islice(_of_kinds(_following(m), kinds), most):
                _print(event, as_json)
            return
        found = list(_of_kinds(_so_far(m), kinds))
        for event in found[-most:] if most else found:
            _print(event, as_json)


def moment(text: str) -> datetime:
    """Return the time that `text` means: an age such as 2h, or a date, by default in local time."""
    if ago := re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([smhdw])", text):
        return datetime.now(UTC) - timedelta(seconds=min(float(ago[1]) * UNITS[ago[2]], LONGEST))
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        hint = "Write a time such as 90s, 15m, 2h, 3d, 1w, 2026-01-31 or 2026-01-31T12:00+01:00."
        raise BadArgument(f"--since {text!r:.60} is not a time.", hint=hint) from None


def written(url: str | None, since: datetime) -> Iterator[EventFields]:
    """Yield the events in the snapshots of a node of this machine, running or not."""
    place, uuid = _snapshots(url)
    for line in past(place, uuid, since):
        yield {
            "number": line.line,
            "wall": round(datetime.fromisoformat(line.ts).timestamp() * 1e9),
            "kind": line.event,
            "node": line.node,
            "uuid": line.uuid,
            "boot": line.boot,
            "text": line.text or "",
            "observer_boot": line.observer_boot,
        }


def _snapshots(name: str | None) -> tuple[Path, str]:
    """Return the snapshot directory and the uuid of the node `name`, or of the only one running here."""
    state = state_dir(os.environ)
    here = {node["name"]: node for node in running_nodes(state)}
    found = [here[name]] if name in here else [] if name else list(here.values())
    if len(found) == 1:
        if not found[0]["snapshots"]:
            what = f"Node {found[0]['name']!r} writes no snapshots, which --since reads."
            hint = "Set snapshots.enabled = true in its mesh.toml and restart it, or omit --since."
            raise NodeNotFound(what, hint=hint)
        return Path(found[0]["snapshots"]), found[0]["uuid"]
    stopped = state / "data" / name if name and is_node_name(name) else None
    if stopped is not None and (known := kept_identity(stopped)) is not None:
        return stopped / "snapshots", known[0].hex()
    what = (
        f"{len(here)} nodes run here, and none was selected." if here else "No node of this user runs here."
    )
    if name:
        what = f"No node {name!r} of this user runs here or has data in {state / 'data'}."
    raise NodeNotFound(
        what, hint="--since reads the snapshots of your node on this machine, even a stopped one: --url NAME"
    )


def is_node_name(text: str) -> bool:
    try:
        check_node_name(text)
    except BadName:
        return False
    return True


def _so_far(m: sync.Client, after: int = 0, boot: int = 0) -> Iterator[EventFields]:
    """Yield the events with numbers above `after`, or all events if the node is no longer in `boot`.

    The `boot` 0 stands for any boot.
    """
    while True:
        found = m.call("events", after=after)
        if boot not in (0, found["boot"]):  # numbers start at 1 again
            after, boot = 0, found["boot"]
        elif not found["events"]:
            return
        else:
            yield from ({**event, "observer_boot": found["boot"]} for event in found["events"])
            after = found["next"]


def _following(m: sync.Client) -> Iterator[EventFields]:
    """Yield present and new events, even across restarts of the node."""
    last = boot = 0
    while True:
        try:
            for event in _so_far(m, last, boot):
                missed = event["number"] - last - 1
                if event["observer_boot"] == boot and missed:
                    print_message(f"{count(missed, 'event')} missed, because too many came at once")
                last, boot = event["number"], event["observer_boot"]
                yield event
        except MeshTimeout:
            pass  # options.tell_of_connection reports it
        time.sleep(PAUSE)


def _of_kinds(events: Iterator[EventFields], kinds: tuple[str, ...]) -> Iterator[EventFields]:
    return (event for event in events if not kinds or event["kind"] in kinds)


def _print(event: EventFields, as_json: bool) -> None:
    click.echo(json.dumps(event) if as_json else line(event))


def line(event: EventFields) -> str:
    """Return the event as a line: time, kind, node, text."""
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(event["wall"] / 1e9))
    return harmless(f"{when}  {event['kind']:<10}  {event['node'] or '-':<12}  {event['text']}")
