"""`mesh sub`: prints messages as they arrive."""

import sys
import time
from collections.abc import Callable
from typing import Any

import click

from mesh import sync
from mesh.cli import jobs, options, show
from mesh.cli.completing import complete_topics
from mesh.cli.options import count, print_message
from mesh.client.batch import Batch
from mesh.client.message import GONE, Message
from mesh.errors import MeshTimeout
from mesh.routing.overflow import Overflow


@click.command("sub")
@click.argument("key", metavar="KEY|PATTERN", shell_complete=complete_topics)
@options.read_domain
@options.most
@options.wait
@click.option("--no-initial", is_flag=True, help="Skip the retained values.")
@options.history
@click.option(
    "--overflow",
    type=click.Choice([policy.value for policy in Overflow], case_sensitive=False),
    default=Overflow.BLOCK.value,
    show_default=True,
    help="Policy for transient messages that arrive faster than they are printed; ERROR ends the command.",
)
@click.option(
    "--max-queue",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    metavar="N",
    help="Limit of messages in transit, and of messages that wait at the node. Default: the node's limits; "
    "with --durable: 1,000.",
)
@click.option("--group", metavar="NAME", help="Share the messages with the group NAME, across nodes.")
@click.option(
    "--durable", metavar="NAME", help="Use the durable subscription NAME: messages are stored until printed."
)
@click.option(
    "--selector",
    metavar="EXPRESSION",
    help="With --durable, print only messages that match: see `mesh queue take --help`.",
)
@options.raw
@options.json_lines
@options.url
def command(  # noqa: PLR0913
    key: str,
    domain: str | None,
    most: int | None,
    wait: float | None,
    no_initial: bool,
    history: int,
    overflow: str,
    max_queue: int,
    group: str | None,
    durable: str | None,
    selector: str | None,
    raw: bool,
    as_json: bool,
    url: str | None,
) -> None:
    """Print messages as they arrive, until Ctrl-C.

    In a pattern, a level + matches any one level, and # at the end matches any number of further levels:
    'sensors/+/temp', 'sensors/#'. Stderr shows "subscribed" when all reachable nodes know the subscription.

    With --group, each message goes to one member of the group with the same KEY or PATTERN, and retained
    values are not sent. A retained value is marked "(retained)", or by its state in --json.

    With --durable, messages are stored on disk from now on, even while no command prints them. A printed
    message is acknowledged. Commands with the same NAME share the messages. `mesh unsub NAME` ends the
    subscription.
    """
    if selector is not None and durable is None:
        raise click.UsageError("--selector requires --durable.")
    if durable is not None:
        if group is not None or no_initial or history > 1 or overflow != Overflow.BLOCK:
            names = "--group, --no-initial, --history and --overflow"
            raise click.UsageError(f"{names} cannot be used with --durable.")
        _durable(key, domain, durable, most, wait, max_queue or jobs.ahead(most), selector, raw, as_json, url)
        return
    lines = raw_lines if raw else lines_of(show.json_line if as_json else show.line_of_subscriber)
    how = {"domain": domain, "overflow": overflow, "max_queue": max_queue, "group": group, "history": history}
    _subscribed(key, {**how, "initial": not no_initial}, most, wait, lines, url)


def _subscribed(
    key: str,
    how: dict[str, Any],
    most: int | None,
    wait: float | None,
    lines: Callable[[Batch, int], bytes],
    url: str | None,
) -> None:
    end = None if wait is None else time.monotonic() + wait
    with sync.connect(url) as m:
        options.tell_of_connection(m)
        with m.subscribe(**options.query(key), **how) as subscription:
            print_message(f"subscribed to {key}")
            try:
                _print(subscription, lines, most, end)
            except MeshTimeout:
                raise MeshTimeout(f"The time limit of {wait:g} s has passed.") from None


def _durable(
    key: str,
    domain: str | None,
    name: str,
    most: int | None,
    wait: float | None,
    ahead: int,
    selector: str | None,
    raw: bool,
    as_json: bool,
    url: str | None,
) -> None:
    end = None if wait is None else time.monotonic() + wait
    with sync.connect(url) as m:
        options.tell_of_connection(m)
        asked = {**options.query(key), "domain": domain, "max_queue": ahead, "selector": selector}
        with m.subscribe(durable=name, **asked) as taken:
            print_message(f"subscribed to {key} as {name}")
            printed = jobs.tell(taken, jobs.line_of(raw, as_json), most, wait, end)
    if wait is not None and (most is None or printed < most):
        raise MeshTimeout(f"The time limit of {wait:g} s has passed.")


def raw_lines(batch: Batch, most: int) -> bytes:
    contents = batch.contents()[:most] if batch.state not in GONE else ()  # these have no content
    return b"\n".join(contents) + b"\n" if contents else b""


def lines_of(line: Callable[[Message], bytes]) -> Callable[[Batch, int], bytes]:
    return lambda batch, most: b"".join(line(message) for message, _ in zip(batch, range(most), strict=False))


def _print(
    subscription: sync.Subscription, lines: Callable[[Batch, int], bytes], most: int | None, end: float | None
) -> None:
    dropped = unknown = printed = 0
    while most is None or printed < most:
        timeout = None if end is None else max(0.0, end - time.monotonic())
        batch = subscription.next_batch(timeout)
        if batch is None:
            return
        wanted = len(batch) if most is None else min(len(batch), most - printed)
        printable = lines(batch, wanted)
        if printable:
            sys.stdout.buffer.write(printable)
            sys.stdout.buffer.flush()
            printed += wanted
        if subscription.dropped > dropped:
            new, dropped = subscription.dropped - dropped, subscription.dropped
            why = "this client is too slow, or a link with another site had no room"
            print_message(f"dropped {count(new, 'message')} ({dropped:,} in total): {why}")
        if subscription.unknown_gaps > unknown:
            unknown = subscription.unknown_gaps
            print_message("transient messages may be missing: a node that this client has left ended")
