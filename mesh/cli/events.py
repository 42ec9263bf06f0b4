"""`mesh events`: what has happened?"""

import json
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.options import count, say
from mesh.errors import MeshTimeout
from mesh.printable import harmless

KINDS = (
    "joined", "suspect", "alive", "dead", "left", "restarted", "moved", "conflict", "link", "refused",
    "advert", "mdns", "interfaces", "peer", "snapshots", "weights", "disk", "settings", "near",
)  # fmt: skip
PAUSE = 0.5  # s between questions while it follows

EventFields = dict[str, Any]


@click.command("events")
@click.option("--follow", "-f", is_flag=True, help="Go on with what happens from now, until Ctrl-C.")
@click.option(
    "--count",
    "most",
    type=click.IntRange(min=1),
    metavar="N",
    help="Only the newest so many; with --follow end after so many.",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(KINDS),
    metavar="KIND",
    help=f"Only these: {', '.join(KINDS)}. Can be repeated.",
)
@options.json_lines
@options.url
def command(follow: bool, most: int | None, kinds: tuple[str, ...], as_json: bool, url: str | None) -> None:
    """Print what has happened to the mesh, as one node saw it: who came, went, or was refused and why.

    The newest is last. A node keeps its last 1,024 events until it stops.
    """
    with sync.connect(url) as m:
        if follow:
            options.tell_of_connection(m)
            for event in islice(_of_kinds(_following(m), kinds), most):
                _print(event, as_json)
            return
        found = list(_of_kinds(_so_far(m), kinds))
        for event in found[-most:] if most else found:
            _print(event, as_json)


def _so_far(m: sync.Client, after: int = 0, boot: int = 0) -> Iterator[EventFields]:
    """All that are there now, with higher numbers than `after` in that boot of the node; 0: any."""
    while True:
        found = m.call("events", after=after)
        if boot not in (0, found["boot"]):  # it counts from 1 again
            after, boot = 0, found["boot"]
        elif not found["events"]:
            return
        else:
            yield from ({**event, "observer_boot": found["boot"]} for event in found["events"])
            after = found["next"]


def _following(m: sync.Client) -> Iterator[EventFields]:
    """The events that there are, and those that come, over restarts of the node too."""
    last = boot = 0
    while True:
        try:
            for event in _so_far(m, last, boot):
                missed = event["number"] - last - 1
                if event["observer_boot"] == boot and missed:
                    say(f"{count(missed, 'event')} missed: too many at once")
                last, boot = event["number"], event["observer_boot"]
                yield event
        except MeshTimeout:
            pass  # away; options.tell_of_connection says so
        time.sleep(PAUSE)


def _of_kinds(events: Iterator[EventFields], kinds: tuple[str, ...]) -> Iterator[EventFields]:
    return (event for event in events if not kinds or event["kind"] in kinds)


def _print(event: EventFields, as_json: bool) -> None:
    click.echo(json.dumps(event) if as_json else line(event))


def line(event: EventFields) -> str:
    """When, what, who, and the rest."""
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(event["wall"] / 1e9))
    return harmless(f"{when}  {event['kind']:<10}  {event['node'] or '-':<12}  {event['text']}")
