"""`mesh queue`: declare queues, put and take, and see what is in them."""

import sys
from collections.abc import Iterable
from typing import Any, BinaryIO

import click
from msgspec import to_builtins

from mesh import sync
from mesh.cli import jobs, options
from mesh.cli.completing import complete_nodes, complete_queues
from mesh.cli.options import count, plainly, say, size, tell_json
from mesh.cli.pub import lines_of
from mesh.cli.table import tell_table
from mesh.printable import harmless, typed
from mesh.wire.replies import Purged, QueuePart, QueueRow, QueueRows, read_result

NAME = "NAME"
HEADER = ("READY", "OUT", "DELAYED", "SIZE", "CONSUMERS", "OLDEST", "IN/s", "DONE/s", "DEAD")
DROPPED = ("DEAD", "DELAYED", "SIZE")  # where there is no room

name = click.argument("name", shell_complete=complete_queues)
selector = click.option(
    "--selector", metavar="EXPRESSION", help="Only what it is true for: 'region == \"eu\" and priority > 5'."
)


@click.group("queue")
def command() -> None:
    """Queues: what is put into one waits until somebody takes it, and says that it is done."""


@command.command("create")
@name
@click.option("--max-count", type=click.IntRange(min=1), metavar="N", help="So many messages may wait.")
@click.option("--max-bytes", type=click.IntRange(min=1), metavar="N", help="So many bytes may wait.")
@click.option(
    "--when-full",
    type=click.Choice(("block", "reject")),
    help="Have those who put wait, if somebody takes; or refuse. Default: block.",
)
@click.option("--max-attempts", type=click.IntRange(min=1), metavar="N", help="Then it is dead. Default: 8.")
@click.option("--dead-letter", metavar="KEY|queue/NAME", help="Where that goes. Default: see `mesh dlq`.")
@options.expiry
@click.option("--exclusive", is_flag=True, default=None, help="One consumer at a time at each node.")
@click.option("--scope", type=click.Choice(("mesh", "node")), help="Who knows it. Default: all of the mesh.")
@click.option(
    "--distribution",
    type=click.Choice(("local", "round_robin", "strict", "independent")),
    help="To which nodes messages go. Default: local.",
)
@click.option(
    "--redistribution",
    type=options.FiniteNumber(min=0),
    metavar="SECONDS",
    help="Wait in vain, before going elsewhere.",
)
@click.option("--policy", metavar="NAME", help="The plug-in that decides what moves.")
@click.option("--node", "nodes", multiple=True, metavar="NAME", help="Where messages stay. Can be repeated.")
@options.as_json
@options.url
def create(name: str, as_json: bool, url: str | None, **terms: Any) -> None:
    """Have the queue NAME there. The same said again changes nothing; what differs is an error."""
    said = {term: value for term, value in terms.items() if value not in (None, ())}
    with sync.connect(url) as m:
        row = m.queue(name).declare(**said)
    if as_json:
        tell_json(to_builtins(row))
    else:
        say(f"the queue {name} is there.  To put something into it:  mesh queue put {typed(name)} CONTENT")


@command.command("ls")
@click.option("--parts", is_flag=True, help="A line for each node where something is, or somebody takes.")
@options.as_json
@options.url
def ls(parts: bool, as_json: bool, url: str | None) -> int:
    """List the queues, and what is in them at all nodes. Exit code 1 when there is none.

    OUT: what somebody has taken, and not settled. OLDEST: how long the oldest has waited.
    """
    with sync.connect(url) as m:
        rows, missing, away = _all(m)
    if as_json:
        tell_json([to_builtins(row) for row in rows])
    elif not rows:
        say("there is no queue.  To declare one:  mesh queue create NAME")
    elif parts:
        every = [(row.name, _node(part), *_cells(part)) for row in rows for part in row.parts]
        tell_table((NAME, "NODE", *HEADER), every, folded=NAME, dropped=DROPPED)
    else:
        tell_table((NAME, *HEADER), [(row.name, *_cells(row)) for row in rows], folded=NAME, dropped=DROPPED)
    _tell_missing(missing, away)
    return 0 if rows else 1


def _all(m: sync.Client) -> tuple[list[QueueRow], list[str], list[str]]:
    """All queues, the nodes that did not answer, and those that are away."""
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
    for nodes, why in ((missing, "which did not answer"), (away, "away with messages in queues")):
        if names := ", ".join(harmless(node) for node in sorted(set(nodes))):
            say(f"without what is at {names}, {why}")


def _node(part: QueuePart) -> str:
    """Where it is; and when it was there, at a node that is away."""
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
    """Print what is in a queue at all nodes, how fast it changes, and how it was declared."""
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
        end = "and looks on" if row.looks_on else "and has seen all"
        figures.append(("selector", f"one has met {row.in_vain:,} in vain, {end}"))
    if row.queries:
        figures.append(("subscribed to", ", ".join(map(_query, row.queries))))
    terms = [(term.replace("_", "-"), _said(value)) for term, value in row.terms.items()]
    tell_table((), [*figures, ("", ""), *terms])
    _tell_missing(row.missing, row.away)


def _query(query: tuple[str, str, str]) -> str:
    """What a durable subscription is to."""
    _, text, domain = query
    return f"{text} in domain {domain}" if domain else text


def _in_words(part: QueuePart) -> str:
    return f"{part.ready:,} ready, {part.out:,} out, {count(part.consumers, 'consumer')}"


def _said(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    return "-" if value in (None, "") else str(value)


@command.command("put")
@name
@click.argument("contents", nargs=-1, metavar="[CONTENT]...")
@options.file
@click.option("--key", default="", metavar="KEY", help="What it is about, for those who select.")
@click.option(
    "--priority",
    type=click.IntRange(0, 9),
    default=5,
    metavar="0-9",
    help="The highest comes first. Default: 5.",
)
@click.option(
    "--delay", type=options.FiniteNumber(min=0), default=0.0, metavar="SECONDS", help="Not given out before."
)
@click.option("--group", default="", metavar="NAME", help="All of a group goes to one consumer, in order.")
@click.option("--transient", is_flag=True, help="Not on disk: lost with the node.")
@options.header
@options.expiry
@options.timeout
@options.as_json
@options.url
def put(
    name: str,
    contents: tuple[str, ...],
    file: BinaryIO | None,
    transient: bool,
    given: tuple[str, ...],
    timeout: float | None,
    as_json: bool,
    url: str | None,
    **how: Any,
) -> None:
    """Put each CONTENT into the queue NAME, or each line of a file or of stdin, in order.

    It waits until all are there, on disk, and says how many they are. With the first one that is refused it
    ends.
    """
    if contents and file is not None:
        raise click.UsageError("Give either CONTENT or --file, not both.")
    source = file or sys.stdin.buffer
    if not contents and source.isatty():
        say("each line you type is a message; Ctrl-D ends")
    what = [text.encode(errors="surrogateescape") for text in contents] or lines_of(source)
    with sync.connect(url, **options.limits(timeout)) as m:
        options.tell_of_connection(m)
        done = m.queue(name).put_many(what, headers=options.headers(given), persistent=not transient, **how)
    if as_json:
        tell_json({"put": done})
    else:
        say(f"put {count(done, 'message')} into {name}")


@command.command("take")
@name
@options.most
@click.option(
    "--timeout", type=options.FiniteNumber(min=0), metavar="SECONDS", help="End when none comes for so long."
)
@selector
@options.raw
@options.json_lines
@options.url
def take(
    name: str,
    most: int | None,
    timeout: float | None,
    selector: str | None,
    raw: bool,
    as_json: bool,
    url: str | None,
) -> int:
    """Print messages of the queue NAME as they come, until Ctrl-C. What is printed is done.

    What was not printed goes back. Exit code 1 when there was none.
    """
    with sync.connect(url) as m:
        options.tell_of_connection(m)
        with m.queue(name).consume(selector=selector, prefetch=jobs.ahead(most)) as taken:
            say(f"taking from {name}")
            return 0 if jobs.tell(taken, jobs.line_of(raw, as_json), most, timeout) else 1


@command.command("peek")
@name
@click.option(
    "--count", "most", type=click.IntRange(1, 100), default=10, metavar="N", help="So many. Default: 10."
)
@options.raw
@options.json_lines
@options.url
def peek(name: str, most: int, raw: bool, as_json: bool, url: str | None) -> int:
    """Print the next messages of the queue NAME. They stay in it. Exit code 1 when none is ready."""
    with sync.connect(url) as m:
        found = m.queue(name).peek(most)
    sys.stdout.buffer.write(b"".join(map(jobs.line_of(raw, as_json), found)))
    sys.stdout.buffer.flush()
    return 0 if found else 1


@command.command("purge")
@name
@options.as_json
@options.url
def purge(name: str, as_json: bool, url: str | None) -> None:
    """Throw away what waits in the queue NAME, at all nodes. What somebody has taken stays his."""
    with sync.connect(url) as m:
        found = read_result(Purged, m.call("queue_purge", name=name))
    if as_json:
        tell_json({"purged": found.purged, "missing": found.missing, "away": found.away})
    else:
        say(f"threw away {count(found.purged, 'message')} of {name}")
        _tell_missing(found.missing, found.away)


@command.command("move")
@name
@click.option(
    "--to",
    required=True,
    metavar="NODE",
    help="Where it is to wait from now on.",
    shell_complete=complete_nodes,
)
@click.option(
    "--count", "most", type=click.IntRange(min=1), metavar="N", help="So many at most. Default: all."
)
@options.as_json
@options.url
def move(name: str, to: str, most: int | None, as_json: bool, url: str | None) -> None:
    """Move what waits in the queue NAME at the node to another NODE. What that refuses stays here.

    Ctrl-C begins no more; what is on its way arrives.
    """
    with sync.connect(url) as m:
        done = m.queue(name).move(to, count=most)
    if as_json:
        tell_json({"moved": done})
    else:
        say(f"{harmless(to)} has taken {count(done, 'message')} of {name}")


@command.command("rm")
@name
@click.option(
    "--force", is_flag=True, help="Also when it is not empty, is taken from, or nodes are away. Default: no."
)
@options.as_json
@options.url
def rm(name: str, force: bool, as_json: bool, url: str | None) -> None:
    """Delete the queue NAME at all nodes, if it is empty and unused everywhere."""
    with sync.connect(url) as m:
        m.queue(name).delete(if_unused=not force)
    if as_json:
        tell_json({"removed": name})
    else:
        say(f"the queue {name} is removed")
