"""`mesh inbox`: print what is sent to a session."""

import sys
import time
from collections.abc import Callable

import click

from mesh import sync
from mesh.cli import options, show
from mesh.cli.options import say
from mesh.client.message import Message
from mesh.errors import MeshTimeout


@click.command("inbox")
@options.client
@options.session
@options.most
@options.wait
@options.raw
@options.json_lines
@options.url
def command(
    client: str | None, session: int | None, most: int | None, wait: float | None, raw: bool, as_json: bool,
    url: str | None,
) -> None:  # fmt: skip
    """Print what is sent to a session, until Ctrl-C: its sender, its key if it has one, its content.

    On stderr it says for whom it listens: type that after `mesh send`. What waited is there first.
    """
    end = None if wait is None else time.monotonic() + wait
    line = show.raw_line if raw else show.json_line if as_json else show.letter
    with sync.connect(url, client=client, session=session) as m:
        options.tell_of_connection(m)
        with m.inbox() as inbox:
            say(f"listening for {m.name}")
            try:
                _print(inbox, line, most, end)
            except MeshTimeout:
                raise MeshTimeout(f"{wait:g} s are over.") from None


def _print(
    inbox: sync.Subscription, line: Callable[[Message], bytes], most: int | None, end: float | None
) -> None:
    # One by one, unlike a subscription: what is printed is taken, and all else stays at the node.
    printed = 0
    while most is None or printed < most:
        timeout = None if end is None else max(0.0, end - time.monotonic())
        message = inbox.next_message(timeout)
        if message is None:
            return
        sys.stdout.buffer.write(line(message))
        sys.stdout.buffer.flush()
        printed += 1
