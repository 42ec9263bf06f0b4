"""`mesh why`: explains why messages do not arrive, or where they wait."""

from collections.abc import Sequence

import click
from msgspec import to_builtins

from mesh import sync
from mesh.cli import options
from mesh.cli.completing import complete_nodes, complete_queues, complete_topics
from mesh.cli.options import print_message, tell_json
from mesh.cli.table import tell_table
from mesh.errors import BadKey
from mesh.printable import harmless
from mesh.values import check_text
from mesh.wire.replies import QueueWhy, Reason, read_result

MARKS = {"cause": "!", "perhaps": "?"}
HINTS = 3  # hints to print


@click.group("why")
def command() -> None:
    """Explain why something does not arrive, or where it waits.

    All reachable nodes report what they know; no message is published. The mark ! is for a cause, and ? for a
    possible cause. Other lines describe the state. Exit code 0: no cause was found; 1: a cause was found.
    """


@command.command("node")
@click.argument("name", shell_complete=complete_nodes)
@options.as_json
@options.url
def node(name: str, as_json: bool, url: str | None) -> int:
    """Print why the node NAME is reachable or unreachable."""
    return _tell("node", name, None, as_json, url)


@command.command("topic")
@click.argument("key", shell_complete=complete_topics)
@options.domain
@options.as_json
@options.url
def topic(key: str, domain: str | None, as_json: bool, url: str | None) -> int:
    """Print where a message under KEY would go, and to which subscribers."""
    return _tell("topic", key, domain, as_json, url)


@command.command("message")
@click.argument("name", metavar="ID")
@options.as_json
@options.url
def message(name: str, as_json: bool, url: str | None) -> int:
    """Print the state of the message ID at each node that knows it."""
    return _tell("message", name, None, as_json, url)


@command.command("address")
@click.argument("address")
@options.as_json
@options.url
def address(address: str, as_json: bool, url: str | None) -> int:
    """Print the servers of ADDRESS, and the destination of the next message."""
    return _tell("address", address, None, as_json, url)


@command.command("client")
@click.argument("name")
@options.as_json
@options.url
def client(name: str, as_json: bool, url: str | None) -> int:
    """Print where the client or session NAME is, and its waiting messages."""
    return _tell("client", name, None, as_json, url)


@command.command("site")
@click.argument("name")
@options.as_json
@options.url
def site(name: str, as_json: bool, url: str | None) -> int:
    """Print the gateways to the site NAME, or why it is unreachable."""
    return _tell("site", name, None, as_json, url)


@command.command("lock")
@click.argument("name")
@click.option("--group", default="default", show_default=True, metavar="NAME", help="Group of the lock.")
@options.as_json
@options.url
def lock(name: str, group: str, as_json: bool, url: str | None) -> int:
    """Print the holder of the lock NAME, or why it cannot be granted."""
    return _tell("lock", name, f"lock/{group}", as_json, url)


@command.command("map")
@click.argument("name")
@options.as_json
@options.url
def map_(name: str, as_json: bool, url: str | None) -> int:
    """Print the home of the map NAME, its voters, and why it does not act."""
    return _tell("map", name, None, as_json, url)


@command.command("counter")
@click.argument("name", metavar="[GROUP]", default="default")
@options.as_json
@options.url
def counter(name: str, as_json: bool, url: str | None) -> int:
    """Print the home of the counters of GROUP, its voters, and why it does not act."""
    return _tell("counter", name, None, as_json, url)


@command.command("tx")
@click.argument("name")
@options.as_json
@options.url
def tx(name: str, as_json: bool, url: str | None) -> int:
    """Print the state of the prepared transaction NAME, such as heron/xid-17."""
    return _tell("tx", name, None, as_json, url)


@command.command("queue")
@click.argument("name", shell_complete=complete_queues)
@options.as_json
@options.url
def queue(name: str, as_json: bool, url: str | None) -> int:
    """Print why messages are in the queue NAME, at each node.

    Exit code 1: a cause was found, or the queue is empty.
    """
    check_text(name, "queue", len(name), BadKey)  # the node reports a text that is too long
    with sync.connect(url) as m:
        found = read_result(QueueWhy, m.call("queue_why", name=name))
    if as_json:
        tell_json(to_builtins(found))
    elif found.rows:
        mark = MARKS["cause"]
        rows = [(row.node, f"{row.messages:,}", mark * row.is_cause, row.why) for row in found.rows]
        tell_table(("NODE", "MESSAGES", "", "WHY"), rows, folded="WHY")
    else:
        print_message(f"{name} is empty")
    if found.missing and not as_json:
        print_message(
            f"incomplete, because these nodes did not answer: {', '.join(map(harmless, found.missing))}"
        )
    return 1 if not found.rows or any(row.is_cause for row in found.rows) else 0


def _tell(kind: str, text: str, domain: str | None, as_json: bool, url: str | None) -> int:
    """Print the reasons, and return the exit code: 1 if there is a cause, else 0."""
    for what, said in ((kind, text), ("domain", domain or "")):
        check_text(said, what, len(said), BadKey)  # the node reports a text that is too long
    with sync.connect(url) as m:
        found = m.why(kind, text, domain=domain)
    if as_json:
        tell_json(to_builtins(found))
    else:
        rows = [(each.node, MARKS.get(each.rank, ""), each.says) for each in found]
        tell_table(("NODE", "", "WHY"), rows, folded="WHY")
        for hint in _hints(found):
            print_message(f"mesh: {hint}")
    return 1 if any(each.is_cause for each in found) else 0


def _hints(found: Sequence[Reason]) -> list[str]:
    """Return the first HINTS different hints of causes."""
    return list(dict.fromkeys(each.hint for each in found if each.is_cause and each.hint))[:HINTS]
