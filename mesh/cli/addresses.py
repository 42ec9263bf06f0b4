"""Tables of served addresses and their servers, for `mesh ls` and `mesh route`."""

from collections.abc import Iterator
from typing import Any

from mesh import sync
from mesh.cli import figures, options
from mesh.cli.options import count, print_message, tell_json
from mesh.cli.table import Cell, tell_table
from mesh.names import check_address
from mesh.patterns import check_pattern, matches

HEADER = ("ADDRESS", "NODE", "SERVERS")
RANKED = ("", "NODE", "SERVERS", "LOAD", "UNDER WAY", "BEGUN IN", "WEIGHT")
DROPPED = ("BEGUN IN", "WEIGHT", "UNDER WAY")  # dropped first on a narrow terminal


def tell_all(m: sync.Client, wanted: str | None, as_json: bool) -> int:
    """Print the addresses that match `wanted`, all of them if it is `None`. Return the exit code."""
    if wanted is not None and (not wanted or "pattern" in options.query(wanted)):
        check_pattern(wanted)
    found = m.call("addresses")
    rows = [row for row in found["addresses"] if _is_wanted(row["address"], wanted)]
    missing = sorted(set(found["missing"]))
    if as_json:
        tell_json({"addresses": rows, "missing": missing})
    elif rows:
        tell_table(HEADER, _lines(rows), folded="ADDRESS")
    if missing:
        print_message(f"mesh: incomplete, because these nodes did not answer: {', '.join(missing)}")
    if not rows and not as_json:
        what = f"no client serves {wanted}" if wanted else "no address is served"
        print_message(f"{what}.  To serve one:  mesh reply ADDRESS --exec COMMAND")
    return 0 if rows or not wanted else 1


def _is_wanted(address: str, wanted: str | None) -> bool:
    return (
        not wanted or address == wanted or ("pattern" in options.query(wanted) and matches(wanted, address))
    )


def _lines(rows: list[dict[str, Any]]) -> Iterator[tuple[Cell, ...]]:
    """Yield a row for each node of each address; the address is only in its first row."""
    for row in rows:
        for number, at in enumerate(row["nodes"]):
            yield "" if number else row["address"], at["node"], figures.number(at["consumers"])


def tell_servers(m: sync.Client, address: str, as_json: bool) -> int:
    """Print the servers to which the next messages would go, and why. Return 1 if there is none, else 0."""
    found = m.call("servers", address=check_address(address))
    servers = found["servers"]
    if as_json:
        tell_json(found)
    elif servers:
        is_ordered = found["is_ordered"]
        lines = [_server(row, place if is_ordered else 0) for place, row in enumerate(servers, 1)]
        tell_table(RANKED, lines, dropped=DROPPED)
        served = count(sum(row["consumers"] for row in servers), "server")
        by = "in this order" if is_ordered else "by reading the message"
        print_message(f"{served} at {count(len(servers), 'node')}; {found['strategy']} chooses, {by}")
    else:
        print_message(f"mesh: {found['text']} [NO_HANDLERS]")
    return 0 if servers else 1


def _server(row: dict[str, Any], place: int) -> tuple[Cell, ...]:
    load = row["load"]
    return (
        "next" if place == 1 else f"{place}." if place else "",
        f"{row['node']} *" if row["is_here"] else row["node"],
        figures.number(row["consumers"]),
        figures.percent(None if load is None else 100 * load),
        figures.number(row["outstanding"]),
        figures.seconds(row["latency"]),
        f"{row['weight']:.3g}",
    )
