"""`mesh queue`: creates, lists, purges, moves and deletes queues.

The commands `put`, `take` and `peek` are defined in mesh/cli/queue_messages.py.
"""

from collections.abc import Iterable
from typing import Any

import click
from msgspec import to_builtins

from mesh import sync
from mesh.cli import options
from mesh.cli.completing import complete_nodes
from mesh.cli.options import count, plainly, print_message, size, tell_json
from mesh.cli.queue_messages import name, peek, put, take
from mesh.cli.table import tell_table
from mesh.features.queues.model.declared.definition import MOST_ATTEMPTS, MOST_BYTES, MOST_COUNT, QueueTerms
from mesh.printable import harmless, typed
from mesh.wire.limits import KIB
from mesh.wire.replies import Purged, QueuePart, QueueRow, QueueRows, read_result

NAME = "NAME"
HEADER = ("READY", "OUT", "DELAYED", "SIZE", "CONSUMERS", "OLDEST", "IN/s", "DONE/s", "DEAD")
DROPPED = ("DEAD", "DELAYED", "SIZE")  # dropped first on a narrow terminal
DEFAULTS = QueueTerms()


@click.group("queue")
def command() -> None:
    """Manage queues and their messages. A message stays in its queue until a consumer acknowledges it."""


@command.command("create")
@name
@click.option(
    "--max-count",
    type=click.IntRange(1, MOST_COUNT),
    metavar="N",
    help=f"Limit of messages in the queue at each node. Default: {DEFAULTS.max_count:,}.",
)
@click.option(
    "--max-bytes",
    type=click.IntRange(KIB, MOST_BYTES),
    metavar="N",
    help=f"Limit of bytes in the queue at each node. Default: {DEFAULTS.max_bytes:,} (1 GiB).",
)
@click.option(
    "--when-full",
    type=click.Choice(("block", "reject")),
    help="When the queue is full: block producers while a consumer is connected, or reject messages. "
    "Default: block.",
)
@click.option(
    "--max-attempts",
    type=click.IntRange(1, MOST_ATTEMPTS),
    metavar="N",
    help=f"Dead-letter a message after N failed deliveries. Default: {DEFAULTS.max_attempts}.",
)
@click.option(
    "--dead-letter",
    metavar="KEY|queue/NAME",
    help="Send dead letters to the queue NAME or the key KEY. Default: keep them for `mesh dlq`.",
)
@options.expiry
@click.option(
    "--exclusive",
    is_flag=True,
    default=None,
    help="Deliver to one consumer at a time at each node; the other consumers wait.",
)
@click.option(
    "--scope",
    type=click.Choice(("mesh", "node")),
    help="Declare the queue in the whole mesh, or only at the asked node. Default: mesh.",
)
@click.option(
    "--distribution",
    type=click.Choice(("local", "round_robin", "strict", "independent")),
    help="Node that receives a new message. local: the producer's node, or other nodes in turn if only these "
    "have matching consumers; round_robin: all nodes with matching consumers in turn; strict: all nodes in "
    "turn; independent: the producer's node. Default: local.",
)
@click.option(
    "--redistribution",
    type=options.FiniteNumber(min=0),
    metavar="SECONDS",
    help="Move a message to a node with a matching consumer after SECONDS without one at its own node. "
    f"Default: {DEFAULTS.redistribution:g}.",
)
@click.option("--policy", metavar="NAME", help="Use the redistribution plug-in NAME. Default: none.")
@click.option(
    "--node",
    "nodes",
    multiple=True,
    metavar="NAME",
    help="Keep messages only at the node NAME. Can be repeated. Default: at any node.",
)
@options.as_json
@options.url
def create(name: str, as_json: bool, url: str | None, **terms: Any) -> None:
    """Create the queue NAME. If the queue exists, equal options have no effect; others are an error."""
    said = {term: value for term, value in terms.items() if value not in (None, ())}
    with sync.connect(url) as m:
        row = m.queue(name).declare(**said)
    if as_json:
        tell_json(to_builtins(row))
    else:
        print_message(f"queue {name} exists.  To put a message:  mesh queue put {typed(name)} CONTENT")


@command.command("ls")
@click.option(
    "--parts",
    is_flag=True,
    help="Print a line for each queue and node: the asked node, and others with messages or consumers.",
)
@options.as_json
@options.url
def ls(parts: bool, as_json: bool, url: str | None) -> int:
    """List the queues with their contents at all nodes. Exit code 1: no queue exists.

    OUT: messages that were delivered to a consumer and are not settled. OLDEST: age of the oldest ready
    message.
    """
    with sync.connect(url) as m:
        rows, missing, away = _all(m)
    if as_json:
        tell_json([to_builtins(row) for row in rows])
    elif not rows:
        print_message("no queue exists.  To create one:  mesh queue create NAME")
    elif parts:
        every = [(row.name, _node(part), *_cells(part)) for row in rows for part in row.parts]
        tell_table((NAME, "NODE", *HEADER), every, folded=NAME, dropped=DROPPED)
    else:
        tell_table((NAME, *HEADER), [(row.name, *_cells(row)) for row in rows], folded=NAME, dropped=DROPPED)
    _tell_missing(missing, away)
    return 0 if rows else 1


def _all(m: sync.Client) -> tuple[list[QueueRow], list[str], list[str]]:
    """Return all queues, the nodes that did not answer, and the unreachable nodes that had messages."""
    rows, missing, away, after = list[QueueRow](), list[str](), list[str](), ""
    while True:
        page = read_result(QueueRows, m.call("queue_ls", after=after))
        rows += page.queues
        missing += page.missing
        away += page.away
        if not page.more or page.more <= after:
            return rows, missing, away
        after = page.more


def _tell_missing(missing: Iterable[str], away: Iterable[str]) -> None:
    for nodes, why in ((missing, "which did not answer"), (away, "unreachable, with messages in queues")):
        if names := ", ".join(harmless(node) for node in sorted(set(nodes))):
            print_message(f"incomplete, without {names}, {why}")


def _node(part: QueuePart) -> str:
    """Return the node's name, with the age of its figures if the node is unreachable."""
    return f"{part.node}, {plainly(part.as_of)} ago" if part.as_of else part.node


def _cells(row: QueueRow | QueuePart) -> tuple[str, ...]:
    return (
        f"{row.ready:,}",
        f"{row.out:,}",
        f"{row.delayed:,}",
        size(row.bytes),
        f"{row.consumers:,}",
        plainly(row.oldest) if row.oldest else "-",
        f"{row.arrives:,.1f}",
        f"{row.leaves:,.1f}",
        f"{row.dead:,}",
    )


@command.command("info")
@name
@options.as_json
@options.url
def info(name: str, as_json: bool, url: str | None) -> None:
    """Print the counts and rates of the queue NAME across all nodes, and its terms."""
    with sync.connect(url) as m:
        row = m.queue(name).info()
    if as_json:
        tell_json(to_builtins(row))
        return
    figures = [("name", row.name)]
    figures += [(title.lower(), cell) for title, cell in zip(HEADER, _cells(row), strict=True)]
    figures += [("done", f"{row.acked:,}"), ("redelivered", f"{row.redelivered:,}")]
    figures += [("moving", f"{row.going:,}")] if row.going else []
    figures += [("at", f"{_node(part)}: {_in_words(part)}") for part in row.parts]
    if row.in_vain:
        end = "and keeps searching" if row.looks_on else "and has searched all"
        figures.append(("selector", f"a consumer has checked {row.in_vain:,} without a match, {end}"))
    if row.queries:
        figures.append(("subscribed to", ", ".join(map(_query, row.queries))))
    terms = [(term.replace("_", "-"), _said(value)) for term, value in row.terms.items()]
    tell_table((), [*figures, ("", ""), *terms])
    _tell_missing(row.missing, row.away)


def _query(query: tuple[str, str, str]) -> str:
    """Return a query of a durable subscription as text."""
    _, text, domain = query
    return f"{text} in domain {domain}" if domain else text


def _in_words(part: QueuePart) -> str:
    return f"{part.ready:,} ready, {part.out:,} out, {count(part.consumers, 'consumer')}"


def _said(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    return "-" if value in (None, "") else str(value)


for each in (put, take, peek):
    command.add_command(each)


@command.command("purge")
@name
@options.as_json
@options.url
def purge(name: str, as_json: bool, url: str | None) -> None:
    """Discard waiting messages of the queue NAME at all reachable nodes. Outstanding deliveries stay."""
    with sync.connect(url) as m:
        found = read_result(Purged, m.call("queue_purge", name=name))
    if as_json:
        tell_json({"purged": found.purged, "missing": found.missing, "away": found.away})
    else:
        print_message(f"purged {count(found.purged, 'message')} of {name}")
        _tell_missing(found.missing, found.away)


@command.command("move")
@name
@click.option(
    "--to", required=True, metavar="NODE", help="Move the messages to NODE.", shell_complete=complete_nodes
)
@click.option(
    "--count", "most", type=click.IntRange(min=1), metavar="N", help="Move at most N messages. Default: all."
)
@options.as_json
@options.url
def move(name: str, to: str, most: int | None, as_json: bool, url: str | None) -> None:
    """Move waiting messages of the queue NAME from the asked node to another node.

    Messages that NODE refuses stay at the asked node. After Ctrl-C no further move begins; messages in
    transit arrive.
    """
    with sync.connect(url) as m:
        done = m.queue(name).move(to, count=most)
    if as_json:
        tell_json({"moved": done})
    else:
        print_message(f"{harmless(to)} accepted {count(done, 'message')} of {name}")


@command.command("rm")
@name
@click.option(
    "--force",
    is_flag=True,
    help="Delete the queue even if it has messages or consumers, or nodes are unreachable.",
)
@options.as_json
@options.url
def rm(name: str, force: bool, as_json: bool, url: str | None) -> None:
    """Delete the queue NAME. Without --force, the queue must be empty and unused at all nodes."""
    with sync.connect(url) as m:
        m.queue(name).delete(if_unused=not force)
    if as_json:
        tell_json({"removed": name})
    else:
        print_message(f"queue {name} was deleted")
