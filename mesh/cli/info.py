"""`mesh info`: prints one node and its counters."""

from typing import Any

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.options import plainly, tell_json
from mesh.cli.table import tell_table

DURATIONS = ("uptime", "lag_p99", "lag_worst")


@click.command("info")
@options.url
@options.as_json
def command(url: str | None, as_json: bool) -> None:
    """Print the identity and process of a node, its counters since the start, and its current sizes."""
    with sync.connect(url) as m:
        found = m.call("info")
    if as_json:
        tell_json(found)
        return
    metrics = found.pop("metrics") | found.pop("snapshots", {}) | found.pop("disk", {})
    tell_table((), [(name, _shown(name, value)) for name, value in found.items()])
    click.echo()
    tell_table((), [(name, f"{value:,}") for name, value in metrics.items()])


def _shown(name: str, value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key or 'default'} {each}" for key, each in value.items())
    return plainly(value) if name in DURATIONS else str(value)
