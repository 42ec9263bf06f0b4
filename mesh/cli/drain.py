"""`mesh drain`: moves the queued messages of a node, or all that it has, so that it can be stopped."""

import time

import click
from msgspec import to_builtins

from mesh import sync
from mesh.cli import options
from mesh.cli.drain_node import ask_node, drain, tell_look
from mesh.cli.options import count, print_message, tell_json
from mesh.cli.table import tell_table
from mesh.errors import LocalError, MeshTimeout
from mesh.printable import harmless, typed
from mesh.wire.replies import Drain, NodeDrained, read_result

PAUSE, SAYS = 0.2, 2.0  # s between two questions, and between two lines


@click.command("drain")
@click.option("--clients", is_flag=True, help="Move the clients of the node, too, and empty its buffers.")
@click.option(
    "--then", metavar="COMMAND", help="Run COMMAND in a shell when the node is empty. Needs --clients."
)
@click.option("--cancel", is_flag=True, help="End the drain. Messages that have moved stay where they are.")
@click.option("--look", is_flag=True, help="Only print the progress: start nothing and wait for nothing.")
@options.wait
@options.as_json
@options.url
def command(
    clients: bool,
    then: str | None,
    cancel: bool,
    look: bool,
    wait: float | None,
    as_json: bool,
    url: str | None,
) -> int:
    """Move all queued messages of a node to other nodes, and wait until nothing is left.

    With --clients, the node accepts no new clients, calls in progress end, its clients go to other nodes,
    and its buffers empty. Messages for nodes that are down stay on its disk. The exit code is that of --then.

    The node accepts no messages from other nodes. Its consumers receive only messages that cannot move.
    Ctrl-C and --wait end only the waiting. Exit code 1: messages are left in queues that exist only at that
    node; with --look: the drain is not complete, or none was started.
    """
    if cancel and look:
        raise click.UsageError("Give either --cancel or --look, not both.")
    if then is not None and not then.strip():
        raise click.UsageError("--then needs a command.")
    if then and (not clients or cancel or look):
        raise click.UsageError("--then needs --clients, without --cancel and --look.")
    limit = None if wait is None else time.monotonic() + wait
    if clients and not (cancel or look):
        return drain(url, limit, then or "", as_json)
    with sync.connect(url) as m:
        name = m.call("info")["name"]
        if cancel or look:
            of_node = _of_node(m, "cancel" if cancel else "look")
            if look and of_node is not None and of_node.drains:
                return tell_look(name, of_node, as_json)
        found = _asked(m, "cancel" if cancel else "look" if look else "begin")
        if not (cancel or look):
            options.tell_of_connection(m)
            found = _waited(m, name, found, limit)
    if as_json:
        tell_json(to_builtins(found))
    else:
        _tell(name, found)
    return 0 if cancel or (found.drains and not (found.left or found.stay)) else 1


def _of_node(m: sync.Client, do: str) -> NodeDrained | None:
    """Ask about a drain with clients; `None` if the node is of an earlier release."""
    try:
        return ask_node(m, do)
    except LocalError as error:
        if error.code == "UNKNOWN_VERB":
            return None
        raise


def _asked(m: sync.Client, do: str) -> Drain:
    return read_result(Drain, m.call("queue_drain", do=do))


def _waited(m: sync.Client, name: str, found: Drain, limit: float | None) -> Drain:
    """Wait until everything that can move has moved. Raises: MeshTimeout; LocalError DRAIN_CANCELLED."""
    said, told = -1, 0.0
    while found.left:
        now = time.monotonic()
        if not found.drains:
            left = count(found.left, "message")
            what = f"The drain of {name} was ended by another command or a restart, with {left} left."
            raise LocalError(what, hint="Run the command again to continue.", code="DRAIN_CANCELLED")
        if limit is not None and now >= limit:
            _tell_left(found)
            what = f"The queues of {name} still have {count(found.left, 'message')}; the drain continues."
            raise MeshTimeout(
                what, hint="Run the command again to continue waiting; --cancel ends the drain."
            )
        if found.left != said and now >= told + SAYS:
            said, told = found.left, now
            print_message(f"{count(found.left, 'message')} left at {name}, {found.gone:,} gone")
        time.sleep(PAUSE)
        try:
            found = _asked(m, "look")
        except MeshTimeout:  # unreachable; the drain continues
            continue
    if not found.drains:  # a restart with nothing left ended the drain
        found = _asked(m, "begin")
    return found


def _tell(name: str, found: Drain) -> None:
    at = typed(name)
    if not found.drains:
        print_message(f"{harmless(name)} is not drained: its queues accept messages")
    elif found.left:
        _tell_left(found)
    else:
        print_message(f"the queues of {harmless(name)} are empty.  To stop it:  mesh down --url {at}")
        print_message(f"to end the drain:  mesh drain --cancel --url {at}")
    if found.stay and found.drains:
        queues = ", ".join(map(harmless, found.own))
        verb = "stays" if found.stay == 1 else "stay"
        what = f"{count(found.stay, 'message')} {verb}"
        print_message(f"{what}, in queues that exist only at this node: {queues}")


def _tell_left(found: Drain) -> None:
    rows = [(row.queue, f"{row.messages:,}", row.why) for row in found.rows]
    tell_table(("NAME", "MESSAGES", "WHY"), rows, folded="WHY")
