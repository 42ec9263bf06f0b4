"""`mesh req`: sends a request to an address and prints the reply."""

import json
import sys
from collections.abc import Callable
from typing import Any

import click

from mesh import sync
from mesh.cli import options, show
from mesh.cli.options import print_message, tell_json
from mesh.client.message import Message
from mesh.errors import RequestFailed
from mesh.features.services.client.gathering import GatheredMessage
from mesh.printable import harmless

STDIN = "-"
PATIENCE, PATIENCE_ALL = 5.0, 1.0  # s


@click.command("req")
@click.argument("address")
@click.argument("content", required=False, default="")
@click.option("--all", "every", is_flag=True, help="Send to each server, and print all replies.")
@click.option(
    "--timeout",
    type=options.FiniteNumber(min=0, min_open=True),
    metavar="SECONDS",
    help="Wait at most SECONDS for replies. Default: 5; with --all: 1.",
)
@click.option(
    "--count", "most", type=click.IntRange(min=1), metavar="N", help="With --all, end after N replies."
)
@click.option("--retry-lost", is_flag=True, help="Retry if the server is lost. The request may run twice.")
@click.option("--local", is_flag=True, help="Send only to servers at the asked node.")
@options.header
@click.option(
    "--raw", is_flag=True, help="Print replies byte for byte, even on a terminal; with --all, add newlines."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print replies as JSON; with --all, one object per line."
)
@options.client
@options.url
def command(  # noqa: PLR0913
    address: str,
    content: str,
    every: bool,
    timeout: float | None,
    most: int | None,
    retry_lost: bool,
    local: bool,
    given: tuple[str, ...],
    raw: bool,
    as_json: bool,
    client: str | None,
    url: str | None,
) -> int:
    """Send CONTENT as a request to one server of ADDRESS, and print the reply.

    A CONTENT of - means stdin; without CONTENT the message is empty. In a pipe the reply is printed byte for
    byte; on a terminal control characters are escaped. With --all each reply is a line with its sender.

    Exit code 1: the server reported a failure, or (with --all) a reply is missing. 2: no server
    (NO_HANDLERS), or the server was lost and may have run the request (HANDLER_LOST). 124: no reply in time.
    """
    if most is not None and not every:
        raise click.UsageError("--count requires --all.")
    if retry_lost and every:
        raise click.UsageError("--retry-lost cannot be used with --all.")
    body = sys.stdin.buffer.read() if content == STDIN else content.encode(errors="surrogateescape")
    asked: dict[str, Any] = {"local_only": local, "headers": options.headers(given)}
    with sync.connect(url, client=client) as m:
        if every:
            line = raw_line if raw else json_line if as_json else letter
            return _gather(m, address, body, line, timeout=timeout or PATIENCE_ALL, most=most, **asked)
        told = json_reply if as_json else raw_reply if raw or not sys.stdout.isatty() else plain_reply
        return _request(m, address, body, told, timeout=timeout or PATIENCE, retry_lost=retry_lost, **asked)


# --- one reply --------------------------------------------------------------------------------------------


def _request(
    m: sync.Client, address: str, body: bytes, told: Callable[[Message[Any]], None], **asked: Any
) -> int:
    try:
        reply = m.request(address, body, **asked)
    except RequestFailed as error:
        print_message(f"mesh: {error.what} [{error.code}]")
        return 1
    told(reply)
    return 0


def json_reply(reply: Message[Any]) -> None:
    tell_json(show.described(reply))


def raw_reply(reply: Message[Any]) -> None:
    _write(reply.content)


def plain_reply(reply: Message[Any]) -> None:
    """Print the reply line by line, with control characters escaped."""
    lines = reply.content.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    _write("".join(f"{show.printable(line)}\n" for line in lines).encode())


# --- replies of all servers -------------------------------------------------------------------------------


def _gather(
    m: sync.Client,
    address: str,
    body: bytes,
    line: Callable[[GatheredMessage[Any]], bytes],
    most: int | None,
    **asked: Any,
) -> int:
    replied = failed = 0
    with m.gather(address, body, most=most, **asked) as answers:
        for answer in answers:
            if answer.error is None or line is json_line:
                _write(line(answer))
            if answer.error is None:
                replied += 1
            else:
                failed += 1
                print_message(
                    f"mesh: {answer.sender or 'a server'}: {answer.error.what} [{answer.error.code}]"
                )
        expected = answers.expected
    return _judged(address, expected, replied, failed, most)


def _judged(address: str, expected: int | None, replied: int, failed: int, most: int | None) -> int:
    """Return the exit code, and print why replies are missing."""
    if expected == 0:
        print_message(f"mesh: no client serves {address} [NO_HANDLERS]")
        return 2
    wanted = expected if most is None else min(most, expected or most)
    if not failed and wanted is not None and replied >= wanted:
        return 0
    of = "the servers" if expected is None else f"{expected:,}"
    print_message(f"mesh: {replied:,} of {of} replied in time")
    return 1


def letter(answer: GatheredMessage[Any]) -> bytes:
    return f"{harmless(answer.sender)}  {show.printable(answer.content)}\n".encode()


def raw_line(answer: GatheredMessage[Any]) -> bytes:
    return answer.content + b"\n"


def json_line(answer: GatheredMessage[Any]) -> bytes:
    error = answer.error
    said = None if error is None else {"code": error.code, "text": error.what}
    return json.dumps({**show.described(answer), "error": said}).encode() + b"\n"


def _write(content: bytes) -> None:
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()
