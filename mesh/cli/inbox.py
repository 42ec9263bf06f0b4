"""`mesh inbox`: prints messages to a session, or releases the inbox of a client."""

import sys
import time
from collections.abc import Callable

import click

from mesh import sync
from mesh.cli import options, show
from mesh.cli.options import print_message
from mesh.client import operating
from mesh.client.message import Message
from mesh.errors import MeshTimeout


@click.group("inbox", invoke_without_command=True)
@options.client
@options.session
@options.most
@options.wait
@options.raw
@options.json_lines
@options.url
@click.pass_context
def command(
    context: click.Context,
    client: str | None,
    session: int | None,
    most: int | None,
    wait: float | None,
    raw: bool,
    as_json: bool,
    url: str | None,
) -> None:
    """Print the messages for a session until Ctrl-C: the sender, the key if there is one, and the content.

    Messages that waited come first. A printed message is removed from the inbox. The name of the session, for
    `mesh send`, is printed on stderr.
    """
    if context.invoked_subcommand is not None:
        return
    end = None if wait is None else time.monotonic() + wait
    line = show.raw_line if raw else show.json_line if as_json else show.letter
    with sync.connect(url, client=client, session=session) as m:
        options.tell_of_connection(m)
        with m.inbox() as inbox:
            print_message(f"listening for {m.name}")
            try:
                _print(inbox, line, most, end)
            except MeshTimeout:
                raise MeshTimeout(f"The time limit of {wait:g} s has passed.") from None


@command.command("release")
@click.argument("name", metavar="NAME")
@options.url
def release(name: str, url: str | None) -> int:
    """Release the inboxes of the client NAME at the asked node.

    An inbox belongs to the client key that opened it first, while it has or expects messages. After a release
    it belongs to the key that opens it next. Exit code 1: the inbox belonged to no key.
    """
    operating.mark(True)  # another node would find no owner
    with sync.connect(url) as m:
        released = m.call("inbox", release=name)["released"]
    for each in released:
        print_message(f"{each} was released: the next client that opens it owns it")
    if not released:
        print_message(f"the inbox of {name} has no owner here")
    return 0 if released else 1


def _print(
    inbox: sync.Subscription, line: Callable[[Message], bytes], most: int | None, end: float | None
) -> None:
    # Messages are taken one at a time: a printed message counts as delivered, the others stay at the node.
    printed = 0
    while most is None or printed < most:
        timeout = None if end is None else max(0.0, end - time.monotonic())
        message = inbox.next_message(timeout)
        if message is None:
            return
        sys.stdout.buffer.write(line(message))
        sys.stdout.buffer.flush()
        printed += 1
