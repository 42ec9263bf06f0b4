"""The tree of nodes below the masters of a domain, for `mesh ls --tree`."""

from collections.abc import Iterable, Iterator
from typing import Any

from mesh import sync
from mesh.cli import figures
from mesh.cli.options import print_data, print_message, tell_json
from mesh.cli.table import Cell, tell_table
from mesh.errors import BadKey
from mesh.values import check_domain

HEADER = ("NODE", "STRATUM", "LATENCY", "RULE", "NOT BY")
DROPPED = ("RULE", "LATENCY")  # dropped first on a narrow terminal
NO_WAY, UNHEARD = "no route", "?"
TreeLine = dict[str, Any]


def tell_tree(m: sync.Client, domain: str | None, as_json: bool) -> int:
    """Print the tree of one domain, or of each domain in the node's rules. Return the exit code."""
    if domain is not None and not check_domain(domain):
        raise BadKey(
            "The domain is empty.",
            hint="`mesh ls --tree`, without a domain, shows all domains that rules name.",
        )
    domains = [domain] if domain is not None else m.call("tree")["domains"]
    found = [m.call("tree", domain=each) for each in domains]
    if as_json:
        tell_json([{name: each[name] for name in ("domain", "rows", "missing")} for each in found])
    for number, tree in enumerate(found if not as_json else ()):
        print_data([*([""] if number else []), tree["domain"]])
        _tell_one(tree["rows"])
    if missing := sorted({name for tree in found for name in tree["missing"]}):
        print_message(f"mesh: incomplete, because these nodes did not answer: {', '.join(missing)}")
    if not found and not as_json:
        print_message("no rule at this node names a domain.  Each node is the master for its own clients.")
    return 0 if all(row["way"] for tree in found for row in tree["rows"]) else 1


def _tell_one(rows: list[TreeLine]) -> None:
    parents = {row["way"][1] for row in rows if len(row["way"]) > 1}
    strangers = [row for row in rows if is_by_itself(row) and row["node"] not in parents]
    shown = [row for row in rows if row not in strangers]
    if shown:
        tell_table(HEADER, list(lines(shown)), folded="NOT BY", dropped=DROPPED)
    if strangers:
        print_message(f"no rule names a master for: {', '.join(row['node'] for row in strangers)}")


def is_by_itself(row: TreeLine) -> bool:
    """Return whether the node is a master only because no rule there names one."""
    return len(row["way"]) == 1 and not row["by"]


def lines(rows: Iterable[TreeLine]) -> Iterator[tuple[Cell, ...]]:
    """Yield each node once: each master, followed by the nodes below it, and then nodes without a route."""
    left = {row["node"]: row for row in rows}
    behind: dict[str, list[TreeLine]] = {}
    for row in left.values():
        if len(row["way"]) > 1:
            behind.setdefault(row["way"][1], []).append(row)
    roots = [node for node, row in left.items() if len(row["way"]) == 1]
    unheard = [node for node in behind if node not in left]
    for node in (*roots, *unheard, *left):  # last: two nodes in transition may name each other
        if node in left and not left[node]["way"]:
            continue
        yield from _below(node, 0, left, behind)
    for row in left.values():
        yield _line(row["node"], 0, row)


def _below(
    node: str, depth: int, left: dict[str, TreeLine], behind: dict[str, list[TreeLine]]
) -> Iterator[tuple[Cell, ...]]:
    row = left.pop(node, None)
    if row is None and node not in behind:
        return
    yield _line(node, depth, row)
    for child in behind.pop(node, ()):
        if child["node"] in left:
            yield from _below(child["node"], depth + 1, left, behind)


def _line(node: str, depth: int, row: TreeLine | None) -> tuple[Cell, ...]:
    name = "  " * depth + node
    if row is None:
        return name, UNHEARD, "-", "", ""
    stratum = str(row["stratum"]) if row["way"] else NO_WAY
    broken = "; ".join(f"{other}: {says}" for other, says in row["broken"])
    return name, stratum, figures.seconds(row["latency"] or None), row["by"], broken
