"""`mesh send`: sends one message, or each line of a file, to a session, client or address."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, BinaryIO

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.options import count, print_message
from mesh.cli.pub import lines_of
from mesh.client.destinations import is_pattern
from mesh.client.sending import Sent
from mesh.errors import NotConnected, PublishRefused, SiteUnreachable, UnknownNode
from mesh.names import DEFAULT_NAME
from mesh.remote_names import UNKNOWN
from mesh.values import Published


@click.command("send")
@click.argument("destination")
@click.argument("content", required=False)
@options.file
@click.option(
    "--to",
    "further",
    multiple=True,
    metavar="DESTINATION",
    help="Send the message to DESTINATION, too. Can be repeated.",
)
@click.option(
    "--domain",
    metavar="NAME",
    help="Send to the client at the master of the domain NAME. Default: at the asked node.",
)
@click.option(
    "--one",
    "delivery",
    flag_value="one",
    help="Deliver only to the session of a client with the fewest unread bytes. Default: to each session.",
)
@click.option("--force-queuing", is_flag=True, help="Queue the message for a client that is not connected.")
@options.persistent
@options.header
@options.expiry
@options.timeout
@options.client
@options.session
@options.url
def command(  # noqa: PLR0913
    destination: str,
    content: str | None,
    file: BinaryIO | None,
    further: tuple[str, ...],
    domain: str | None,
    delivery: str | None,
    force_queuing: bool,
    persistent: bool,
    given: tuple[str, ...],
    expiry: float | None,
    timeout: float | None,
    client: str | None,
    session: int | None,
    url: str | None,
) -> int:
    """Send CONTENT to DESTINATION, or each line of a file or of stdin, in order.

    DESTINATION is one session, /node/heron/client/joe/1, or all sessions of a client,
    /node/heron/client/joe. Without /node/heron, --domain selects the node, by default the asked node. The
    prefix /site/NYC addresses a client in another site, at any node: /site/NYC/client/ann.

    A message to an address, such as calc/add, goes to one of its servers (see `mesh req`). Such a message
    cannot have --domain, --force-queuing or --persistent.

    xpath://client[@name='joe'] stands for the connected sessions that the XPath selects, and
    /site/*/calc/add for a name in each other site.

    With several destinations, each has a line with its outcome. Exit code 1: none was found, or
    at least one refused the message.
    """
    if content is not None and file is not None:
        raise click.UsageError("Give either CONTENT or --file, not both.")
    headers = options.headers(given)
    contents = [content.encode(errors="surrogateescape")] if content is not None else _typed(file)
    with sync.connect(url, client=client, session=session, **options.limits(timeout)) as m:
        options.tell_of_connection(m)
        how: dict[str, Any] = {
            "domain": domain,
            "headers": headers,
            "persistent": persistent,
            "expiry": expiry,
            "delivery": delivery,
        }
        is_one = content is not None
        if further or is_pattern(destination):
            how["force_queuing"] = force_queuing
            return tell_each(m.send([destination, *further], each, **how) for each in contents)
        answers = _sent(m, destination, contents, is_one, force_queuing, how)
        print_message(summary(destination, answers, is_one))
    return 0


def _sent(
    m: sync.Client,
    destination: str,
    contents: Iterable[bytes],
    is_one: bool,
    force_queuing: bool,
    how: dict[str, Any],
) -> Iterator[Published]:
    for number, each in enumerate(contents, 1):
        try:
            yield m.send(destination, each, force_queuing=force_queuing, **how)
        except PublishRefused as error:
            raise explained(error, 0 if is_one else number, force_queuing) from None


def _typed(file: BinaryIO | None) -> Iterator[bytes]:
    source = file or sys.stdin.buffer
    if source.isatty():
        print_message("each line is a message; Ctrl-D ends")
    return lines_of(source)


def explained(error: PublishRefused, line: int, force_queuing: bool) -> PublishRefused:
    """Return the error with its line number (0: none) and, if queuing would help, a hint to do so."""
    if line:
        error.what = f"line {line}: {error.what}"
    may_wait = isinstance(error, NotConnected | SiteUnreachable | UnknownNode)
    may_wait = may_wait and not any(text in error.what for text in (UNKNOWN, DEFAULT_NAME))
    if may_wait and not force_queuing:
        error.what = error.what.replace("force_queuing=True", "--force-queuing")
        if "--force-queuing" not in error.what:
            error.hint = "To queue it until a receiver connects: --force-queuing"
    return error


def summary(destination: str, answers: Iterable[Published], is_one: bool) -> str:
    """Return the outcome of one message, or of all lines, as text."""
    outcomes = Counter(map(outcome, answers))
    if is_one:
        return f"sent to {destination}: {next(iter(outcomes))}"
    what = f"sent {count(outcomes.total(), 'line')} to {destination}"
    if len(outcomes) == 1:
        return f"{what}: {next(iter(outcomes))}"
    return ", ".join([what, *(f"{number:,} {said}" for said, number in outcomes.items())])


def tell_each(sendings: Iterable[Iterable[Sent]]) -> int:
    """Print the outcomes of each destination, and return the exit code.

    A refusal is printed once for each destination, with the number of its messages.
    """
    found: dict[str, Counter[str]] = {}
    is_refused = False
    for sent in chain.from_iterable(sendings):
        said = f"refused: {sent.error}" if sent.result is None else outcome(sent.result)
        found.setdefault(sent.destination, Counter())[said] += 1
        is_refused |= sent.result is None
    if not found:
        print_message("mesh: no receiver was found")
    for destination, outcomes in found.items():
        for said, number in outcomes.items():
            times = f" ({number:,} lines)" if number > 1 else ""
            print_message(f"sent to {destination}: {said}{times}")
    return int(not found or is_refused)


def outcome(published: Published) -> str:
    """Return the receivers of the message as text, or why it waits."""
    if not published.ok:
        return f"FORWARD_WARNING: {published.note}"
    return (
        f"accepted by {count(published.matched, 'session')}"
        if published.matched
        else "queued for the receiver"
    )
