"""The table of other sites and of the gateways to them, for `mesh ls --sites`."""

from collections.abc import Iterator
from typing import Any

from mesh import sync
from mesh.cli import figures
from mesh.cli.options import plainly, print_message, tell_json
from mesh.cli.table import Cell, tell_table

HEADER = ("SITE", "STATE", "SINCE", "NODES", "WAITS", "BY", "GATEWAYS THERE", "LINK")
DROPPED = ("SINCE", "NODES", "WAITS")  # dropped first on a narrow terminal


def tell_sites(m: sync.Client, as_json: bool) -> int:
    """Print the other sites. Return the exit code."""
    found = m.call("sites")
    rows, missing = found["sites"], sorted(set(found["missing"]))
    if as_json:
        tell_json({"site": found["site"], "sites": rows, "missing": missing})
    elif rows:
        tell_table(HEADER, list(_lines(rows)), folded="LINK", dropped=DROPPED)
    if missing:
        print_message(f"mesh: incomplete, because these nodes did not answer: {', '.join(missing)}")
    if not rows and not as_json:
        print_message(
            "no other site is configured.  To add one, write into mesh.toml of all nodes:  "
            "[site] and [sites.NAME]"
        )
    return 0


def _state(row: dict[str, Any]) -> str:
    """Return the state of a site, whether it is paused, and how many values it lacks."""
    words = [row["state"]]
    if row.get("paused"):
        words.append("paused")
    if lacks := row.get("lacks"):
        words.append(f"lacks {lacks:,}")
    return ", ".join(words)


def _lines(rows: list[dict[str, Any]]) -> Iterator[tuple[Cell, ...]]:
    """Yield for each site a row per local gateway, at least one; only the first row names the site."""
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
