"""`mesh queue put`, `take` and `peek`: the messages of a queue."""

import sys
from typing import Any, BinaryIO

import click

from mesh import sync
from mesh.cli import jobs, options
from mesh.cli.completing import complete_queues
from mesh.cli.options import count, print_message, tell_json
from mesh.cli.pub import lines_of

name = click.argument("name", shell_complete=complete_queues)
selector = click.option(
    "--selector",
    metavar="EXPRESSION",
    help="Take only messages that match, such as 'region == \"eu\" and priority > 5'. Default: all.",
)


@click.command("put")
@name
@click.argument("contents", nargs=-1, metavar="[CONTENT]...")
@options.file
@click.option("--key", default="", metavar="KEY", help="Key of the messages, for selectors. Default: none.")
@click.option(
    "--priority",
    type=click.IntRange(0, 9),
    default=5,
    metavar="0-9",
    help="Priority; the highest is delivered first. Default: 5.",
)
@click.option(
    "--delay",
    type=options.FiniteNumber(min=0),
    default=0.0,
    metavar="SECONDS",
    help="Deliver after SECONDS. Default: 0.",
)
@click.option(
    "--group",
    default="",
    metavar="NAME",
    help="Put the messages into the message group NAME, which goes to one consumer, in order. Default: none.",
)
@click.option(
    "--transient", is_flag=True, help="Keep the messages only in memory: they are lost if the node ends."
)
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
    """Put messages into the queue NAME.

    Each CONTENT is a message, or each line of a file or of stdin, in order. The command waits until all
    messages are stored, and prints their number. The first refused message ends the command.
    """
    if contents and file is not None:
        raise click.UsageError("Give either CONTENT or --file, not both.")
    source = file or sys.stdin.buffer
    if not contents and source.isatty():
        print_message("each line is a message; Ctrl-D ends")
    what = [text.encode(errors="surrogateescape") for text in contents] or lines_of(source)
    with sync.connect(url, **options.limits(timeout)) as m:
        options.tell_of_connection(m)
        done = m.queue(name).put_many(what, headers=options.headers(given), persistent=not transient, **how)
    if as_json:
        tell_json({"put": done})
    else:
        print_message(f"put {count(done, 'message')} into {name}")


@click.command("take")
@name
@options.most
@click.option(
    "--timeout",
    type=options.FiniteNumber(min=0),
    metavar="SECONDS",
    help="End after SECONDS without a message. Default: never.",
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
    """Print messages of the queue NAME as they arrive, until Ctrl-C. A printed message is acknowledged.

    Messages that were not printed return to the queue. Exit code 1: no message was printed.
    """
    with sync.connect(url) as m:
        options.tell_of_connection(m)
        with m.queue(name).consume(selector=selector, prefetch=jobs.ahead(most)) as taken:
            print_message(f"consuming {name}")
            return 0 if jobs.tell(taken, jobs.line_of(raw, as_json), most, timeout) else 1


@click.command("peek")
@name
@click.option(
    "--count",
    "most",
    type=click.IntRange(1, 100),
    default=10,
    metavar="N",
    help="Print at most N messages. Default: 10.",
)
@options.raw
@options.json_lines
@options.url
def peek(name: str, most: int, raw: bool, as_json: bool, url: str | None) -> int:
    """Print the next messages of the queue NAME without removing them. Exit code 1: no message is ready."""
    with sync.connect(url) as m:
        found = m.queue(name).peek(most)
    sys.stdout.buffer.write(b"".join(map(jobs.line_of(raw, as_json), found)))
    sys.stdout.buffer.flush()
    return 0 if found else 1
