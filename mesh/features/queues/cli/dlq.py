"""`mesh dlq`: lists, replays and purges dead letters."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.options import count, print_message, size, tell_json
from mesh.cli.table import tell_table
from mesh.errors import BadName, PublishRefused
from mesh.features.queues.client.deadletters import PATTERN, DeadLetter
from mesh.names import PUTS, check_taken
from mesh.values import Published, parse_message_id

HEADER = ("ID", "DIED", "CODE", "TO", "DOMAIN", "FROM", "SIZE", "REASON")

which = click.argument("ids", nargs=-1, metavar="[ID…]")
everything = click.option(
    "--all", "is_all", is_flag=True, help="Select all dead letters, or with --queue all of that queue."
)
of_queue = click.option(
    "--queue",
    metavar="NAME",
    help="Select only dead letters of the queue NAME. Default: those of all queues and topics.",
)


@click.group("dlq")
def command() -> None:
    """List, replay and purge dead letters: accepted messages that could not be delivered.

    Examples are messages that their master refuses, that expire before their master or receiver has them, or
    that the consumers of a queue reject.
    """


@command.command("ls")
@of_queue
@options.as_json
@options.url
def ls(queue: str | None, as_json: bool, url: str | None) -> int:
    """List the dead letters, oldest first. Exit code 1: no dead letter exists."""
    with sync.connect(url) as m:
        letters = found(m, queue)
    rows = [_row(letter) for letter in letters if not letter.is_private]
    if as_json:
        tell_json([described(letter) for letter in letters])
    elif rows:
        tell_table(HEADER, rows, folded="REASON", dropped=("DOMAIN", "FROM", "SIZE"))
    elif not letters:
        _tell_none(queue)
    if not as_json:
        _tell_private(letters)
    return 0 if letters else 1


@command.command("replay")
@which
@everything
@of_queue
@options.url
def replay(ids: tuple[str, ...], is_all: bool, queue: str | None, url: str | None) -> int:
    """Replay the dead letters with these IDs, and remove them.

    Each message is published, sent or put again as a new one. A message that is refused again stays a dead
    letter. Exit code 1: a message was refused again.
    """
    refused = 0
    with sync.connect(url) as m:
        letters = chosen(readable(m, queue), ids, is_all)
        for letter in letters:
            method, arguments = letter.again()
            try:
                result = _said(m, method, arguments)
            except PublishRefused as error:
                refused += 1
                print_message(f"mesh: {letter.id} was refused again: {error.what} [{error.code}]")
                continue
            m.erase(letter.key)
            print_message(f"{letter.id} was sent to {letter.addressee}: {result.state}")
    print_message(
        f"replayed {count(len(letters) - refused, 'message')}" + (f", {refused} refused" if refused else "")
    )
    return 1 if refused else 0


@command.command("purge")
@which
@everything
@of_queue
@options.url
def purge(ids: tuple[str, ...], is_all: bool, queue: str | None, url: str | None) -> None:
    """Remove the dead letters with these IDs for good."""
    with sync.connect(url) as m:
        letters = chosen(readable(m, queue), ids, is_all)
        for letter in letters:
            m.erase(letter.key)
    print_message(f"purged {count(len(letters), 'dead letter')}")


def _said(m: sync.Client, method: str, arguments: dict[str, Any]) -> Published:
    """Publish, send or put the message of a dead letter again, and return the answer."""
    said: Published
    if method == "put":
        said = m.queue(arguments.pop("queue")).put(**arguments)
    else:
        said = getattr(m, method)(**arguments)
    return said


def found(m: sync.Client, queue: str | None = None) -> list[DeadLetter]:
    """Return the dead letters of the mesh or of one queue, oldest first.

    Dead letters of the same time are in the order in which a client published the messages. Raises: BadName.
    """
    to = None if queue is None else PUTS + check_taken(queue)
    letters = [letter for letter in map(DeadLetter.of, m.get(pattern=PATTERN)) if to in (None, letter.to)]
    return sorted(letters, key=lambda letter: (letter.died, parse_message_id(letter.id)))


def readable(m: sync.Client, queue: str | None) -> list[DeadLetter]:
    """Return the dead letters that this client may read, and print how many others there are."""
    letters = found(m, queue)
    if not letters:
        _tell_none(queue)
    _tell_private(letters)
    return [letter for letter in letters if not letter.is_private]


def _tell_none(queue: str | None) -> None:
    print_message("no dead letters" + (f" of the queue {queue!r}" if queue else ""))


def _tell_private(letters: Sequence[DeadLetter]) -> None:
    codes = Counter(letter.code for letter in letters if letter.is_private)
    if codes:
        said = ", ".join(f"{number} {code}" for code, number in sorted(codes.items()))
        number = count(codes.total(), "letter")
        print_message(
            f"{number} for single receivers; only these, their senders and nodes can read them: {said}"
        )


def chosen(letters: Sequence[DeadLetter], ids: Sequence[str], is_all: bool) -> list[DeadLetter]:
    """Return the dead letters with the given ids or unique prefixes of ids, or all if `is_all` is set.

    Raises: BadName for an unknown or ambiguous id, UsageError unless either `ids` or `is_all` is given.
    """
    if is_all == bool(ids):
        raise click.UsageError("Give either ids of dead letters, as printed by `mesh dlq ls`, or --all.")
    if is_all:
        return list(letters)
    return list({letter.id: letter for each in ids for letter in [_named(letters, each)]}.values())


def _named(letters: Sequence[DeadLetter], text: str) -> DeadLetter:
    fitting = [letter for letter in letters if letter.id == text]
    fitting = fitting or [letter for letter in letters if letter.id.startswith(text)]
    if len(fitting) != 1:
        if fitting:
            what = f"The ids of {len(fitting):,} dead letters begin with {text!r}."
            raise BadName(what, hint="Give a longer part of the id, as printed by `mesh dlq ls`.")
        what = f"None of the dead letters that can be selected has an id that begins with {text!r}."
        raise BadName(what, hint="List them: `mesh dlq ls`, with --queue if you gave it.")
    return fitting[0]


def described(letter: DeadLetter) -> dict[str, object]:
    """Return the fields for JSON: `content` as text with invalid UTF-8 escaped, `headers` as pairs."""
    content = letter.content.decode(errors="backslashreplace")
    return {**asdict(letter), "headers": list(letter.headers.items()), "content": content}


def _row(letter: DeadLetter) -> tuple[str, ...]:
    died = datetime.fromtimestamp(letter.died / 1e9, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    return (
        letter.id,
        died,
        letter.code,
        letter.addressee,
        letter.domain,
        letter.sender,
        size(len(letter.content)),
        letter.reason,
    )
