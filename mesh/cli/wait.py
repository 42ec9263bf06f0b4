"""`mesh wait`: waits for a node, a queue or a subscriber.

Law 1: the command ends with exit code 0 as soon as the condition holds, and with 1 after the timeout.

Law 2: a node that does not answer is asked again until the timeout.
"""

import os
from collections.abc import Callable, Sequence
from time import monotonic, sleep
from typing import Any, NamedTuple

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.completing import complete_nodes, complete_queues, complete_topics
from mesh.cli.options import count, plainly, print_message, tell_json
from mesh.errors import BadKey, Closed, MeshTimeout, NodeNotFound, NoQueue
from mesh.local.localnodes import running_nodes
from mesh.local.private import state_dir
from mesh.names import node_name
from mesh.printable import harmless
from mesh.values import check_text
from mesh.wire.replies import NodeRow, QueueRow, Reason

PAUSE = 0.2  # s between two questions
LEAST, ASKING = 1.0, 5.0  # s to wait for an answer before a new connection
ALIVE, NO_NODE = "alive", "NO_NODE"


class Found(NamedTuple):
    """The answer to one question: whether the condition holds, and the state as text."""

    is_there: bool
    says: str


Look = Callable[[sync.Client], Found]
timeout = click.option(
    "--timeout",
    type=options.FiniteNumber(min=0),
    metavar="SECONDS",
    help="Wait at most SECONDS; 0: check once. Default: no limit.",
)


@click.group("wait")
def command() -> None:
    """Wait until a condition holds, for use in scripts. The asked node need not be running yet.

    Exit code 0: the condition holds; 1: the time limit has passed; 2: an error.
    """


@command.command("node")
@click.argument("name", shell_complete=complete_nodes)
@timeout
@options.as_json
@options.url
def node(name: str, timeout: float | None, as_json: bool, url: str | None) -> int:
    """Wait until the node NAME is alive.

    Without --url, the node NAME itself is asked, if it runs on this machine.
    """
    wanted = node_name(name)

    def look(m: sync.Client) -> Found:
        return alive(wanted, m.nodes(all=True))

    return _wait("node", name, look, timeout, as_json, lambda: url or _running_here(wanted))


@command.command("queue")
@click.argument("name", shell_complete=complete_queues)
@click.option("--empty", is_flag=True, help="Wait until the queue is empty and all messages are settled.")
@click.option("--consumer", is_flag=True, help="Wait until the queue has a consumer.")
@timeout
@options.as_json
@options.url
def queue(
    name: str, empty: bool, consumer: bool, timeout: float | None, as_json: bool, url: str | None
) -> int:
    """Wait until the queue NAME is declared, is empty (--empty), or has a consumer (--consumer).

    A queue does not count as empty while a node that may hold messages of the queue does not answer.
    """
    if empty and consumer:
        raise click.UsageError("Give either --empty or --consumer, not both.")
    judge = emptied if empty else consumed if consumer else declared

    def look(m: sync.Client) -> Found:
        try:
            return judge(m.queue(name).info())
        except NoQueue:
            return Found(False, "it is not declared")

    return _wait("queue", name, look, timeout, as_json, lambda: url)


@command.command("subscriber")
@click.argument("topic", shell_complete=complete_topics)
@options.domain
@timeout
@options.as_json
@options.url
def subscriber(topic: str, domain: str | None, timeout: float | None, as_json: bool, url: str | None) -> int:
    """Wait until a message under TOPIC would reach a subscriber.

    The message would be published at the asked node. A disconnected subscriber does not count, nor one whose
    subscription has not reached the master yet.
    """
    for text in (topic, domain or ""):
        check_text(text, "topic", len(text), BadKey)  # the node reports a text that is too long

    def look(m: sync.Client) -> Found:
        nodes = subscribed(m.why("topic", topic, domain=domain))
        return Found(bool(nodes), f"subscribed at {', '.join(nodes)}" if nodes else "no subscriber")

    return _wait("subscriber", topic, look, timeout, as_json, lambda: url)


# --- conditions -------------------------------------------------------------------------------------------


def alive(name: str, nodes: Sequence[NodeRow]) -> Found:
    """Return whether the node `name` is alive."""
    states = [row.state for row in nodes if row.name == name]
    state = ALIVE if ALIVE in states else states[0] if states else "unknown"
    return Found(state == ALIVE, f"it is {state}")


def declared(row: QueueRow) -> Found:
    """Return that the queue is declared, since only declared queues have a row."""
    return Found(True, "it is declared")


def emptied(row: QueueRow) -> Found:
    """Return whether the queue is empty at all nodes."""
    if unknown := sorted({*row.missing, *row.away}):
        return Found(False, f"the state at {', '.join(unknown)} is unknown")
    left = row.ready + row.out + row.delayed + row.going
    return Found(not left, f"{count(left, 'message')} in it" if left else "it is empty")


def consumed(row: QueueRow) -> Found:
    """Return whether the queue has a consumer."""
    return Found(row.consumers > 0, count(row.consumers, "consumer"))


def subscribed(reasons: Sequence[Reason]) -> list[str]:
    """Return the nodes with subscribers whose subscription is known at each hop up to the master."""

    def at(code: str) -> set[str]:
        return {each.node for each in reasons if each.code == code}

    asked_by = {each.node: each.about for each in reasons if each.code == "ASKED_BY"}
    known, next_ones = set[str](), at("ACCEPTED_HERE")
    while next_ones:
        known |= next_ones
        next_ones = {other for each in next_ones for other in asked_by.get(each, ())} - known
    wanting = at("SUBSCRIBED") - at("SUBSCRIBER_AWAY")
    return sorted(known & (wanting | at("GROUP_TAKES")))


# --- waiting ----------------------------------------------------------------------------------------------


def _running_here(name: str) -> str | None:
    """Return `name` if a node of that name runs here, to select the node if several run; otherwise `None`."""
    return name if any(each["name"] == name for each in running_nodes(state_dir(os.environ))) else None


def _wait(
    kind: str, name: str, look: Look, timeout: float | None, as_json: bool, url: Callable[[], str | None]
) -> int:
    """Ask until the condition holds or the timeout has passed. Return the exit code.

    `look` asks once over a connection, and `url` returns the address for each new connection.
    """
    begun = monotonic()
    found = Found(False, "no node answers")
    while True:
        left = float("inf") if timeout is None else begun + timeout - monotonic()
        try:
            with sync.connect(url(), timeout=max(LEAST, min(left, ASKING))) as m:
                found = _looking(look, m, left)
        except (NodeNotFound, MeshTimeout, Closed) as error:
            if isinstance(error, NodeNotFound) and error.code != NO_NODE:
                raise
        took = monotonic() - begun
        if found.is_there or (timeout is not None and took >= timeout):
            break
        sleep(min(PAUSE, max(0.0, left)))
    _tell(kind, name, found, took, as_json)
    return 0 if found.is_there else 1


def _looking(look: Look, m: sync.Client, left: float) -> Found:
    """Ask over one connection until the condition holds or `left` s have passed. Return the last answer."""
    end = monotonic() + left
    while not (found := look(m)).is_there and monotonic() < end:
        sleep(min(PAUSE, max(0.0, end - monotonic())))
    return found


def _tell(kind: str, name: str, found: Found, took: float, as_json: bool) -> None:
    if as_json:
        said: dict[str, Any] = {
            "kind": kind,
            "name": name,
            "found": found.is_there,
            "seconds": round(took, 3),
        }
        tell_json({**said, "says": found.says})
    else:
        over = "" if found.is_there else "mesh: the time limit has passed; waited for "
        print_message(f"{over}{kind} {harmless(name)}: {found.says}, after {plainly(took)}")
