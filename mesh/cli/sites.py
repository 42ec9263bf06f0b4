"""Which other sites are there, and by whom are they reached? For `mesh ls`."""

from collections.abc import Iterator
from typing import Any

from mesh import sync
from mesh.cli import figures
from mesh.cli.options import plainly, say, tell_json
from mesh.cli.table import Cell, tell_table

HEADER = ("SITE", "STATE", "SINCE", "NODES", "WAITS", "BY", "GATEWAYS THERE", "LINK")
DROPPED = ("SINCE", "NODES", "WAITS")  # where there is no room, in this order


def tell_sites(m: sync.Client, as_json: bool) -> int:
    """A list of them. Returns the exit code."""
    found = m.call("sites")
    rows, missing = found["sites"], sorted(set(found["missing"]))
    if as_json:
        tell_json({"site": found["site"], "sites": rows, "missing": missing})
    elif rows:
        tell_table(HEADER, list(_lines(rows)), folded="LINK", dropped=DROPPED)
    if missing:
        say(f"mesh: without what these see, which did not answer: {', '.join(missing)}")
    if not rows and not as_json:
        say("no other site is known.  It stands in mesh.toml of all nodes:  [site] and [sites.NAME]")
    return 0


def _state(row: dict[str, Any]) -> str:
    """How it is, and what people should know of it."""
    words = [row["state"]]
    if row.get("paused"):
        words.append("paused")
    if lacks := row.get("lacks"):
        words.append(f"lacks {lacks:,}")
    return ", ".join(words)


def _lines(rows: list[dict[str, Any]]) -> Iterator[tuple[Cell, ...]]:
    """A line for each gateway of ours, or one; the site is named once."""
    for row in rows:
        since = "-" if row["since"] is None else plainly(row["since"])
        site: tuple[Cell, ...] = (
            row["site"],
            _state(row),
            since,
            str(row["count"]),
            figures.queued(row["waiting"]),
        )
        for link in row["links"] or [{"node": "-", "gateways": [], "state": "no gateway", "why": ""}]:
            state = f"{link['state']}: {link['why']}" if link["why"] else link["state"]
            yield (*site, link["node"], ", ".join(link["gateways"]) or "-", state)
            site = ("", "", "", "", "")
