"""`mesh pub`: publishes one message, or each line of a file."""

import sys
import time
from collections.abc import Iterator
from typing import Any, BinaryIO

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.completing import complete_topics
from mesh.cli.options import count, plainly, print_message
from mesh.errors import LocalError, WouldBlock
from mesh.printable import typed
from mesh.reserved import node_at, ruled_node
from mesh.wire.limits import MAX_CONTENT_EVER

RULES_MOST = 1 << 20  # bytes to read, above the limit of rules
SLOW, STEP = 2.0, 5.0  # s until the first progress line, and between later ones


@click.command("pub")
@click.argument("key", shell_complete=complete_topics)
@click.argument("content", required=False)
@options.file
@options.persistent
@options.domain
@options.header
@options.expiry
@options.timeout
@options.no_relay
@options.url
def command(
    key: str,
    content: str | None,
    file: BinaryIO | None,
    persistent: bool,
    domain: str | None,
    given: tuple[str, ...],
    expiry: float | None,
    timeout: float | None,
    no_relay: bool,
    url: str | None,
) -> None:
    """Publish CONTENT under KEY, or each line of a file or of stdin, in order.

    A line may contain any bytes but a newline; an empty line is an empty message. The command waits until all
    messages are answered, and continues after a restart of the node. A message whose master is unreachable is
    also answered, because the node keeps the message until the master is reachable. A message under the KEY
    __sys__cluster.node.master[NODE] sets the rules of NODE for the whole mesh, from an xmlBlaster
    <clusternode> (see `mesh rule`), and one under __sys__cluster.node.info[NODE] its addresses.
    """
    if content is not None and file is not None:
        raise click.UsageError("Give either CONTENT or --file, not both.")
    qos = {
        "persistent": persistent,
        "domain": domain,
        "headers": options.headers(given),
        "expiry": expiry,
        "relay": not no_relay,
    }
    with sync.connect(url, **options.limits(timeout)) as m:
        options.tell_of_connection(m)
        if node := ruled_node(key) or node_at(key):
            publish_rules(m, node, key, content, file, domain=domain, expiry=expiry)
            return
        publishing = PublishRun(m, key, qos)
        if content is not None:
            publishing.post_content(content.encode(errors="surrogateescape"))
        else:
            publishing.post_lines(file or sys.stdin.buffer)
        m.flush()
        publishing.report("line" if content is None else "message")


def publish_rules(
    m: sync.Client, node: str, key: str, content: str | None, file: BinaryIO | None, **options: Any
) -> None:
    """Publish the rules or addresses of a node, which apply when the call returns without an error."""
    given = content.encode(errors="surrogateescape") if content is not None else None
    told = m.publish(key, (file or sys.stdin.buffer).read(RULES_MOST) if given is None else given, **options)
    what, how = ("rules", "rule ls") if ruled_node(key) else ("addresses", "peer ls")
    told_how = f"published the {what} of {node}; the other nodes follow in a moment"
    print_message(f"{told_how}.  To list them:  mesh {how}")
    if told.note:
        print_message(told.note)


class PublishRun:
    """A run that posts messages in order, counts them, and reports progress."""

    def __init__(self, m: sync.Client, key: str, qos: dict[str, Any]) -> None:
        self._m, self._key, self._qos = m, key, qos
        self._count = 0
        self._receipt: sync.Receipt | None = None  # of the last message
        self._start = time.monotonic()
        self._look = self._start + SLOW if sys.stderr.isatty() else float("inf")

    def post_content(self, content: bytes) -> None:
        """Post the message, after waiting for space in the window if necessary."""
        while True:
            try:
                self._receipt = self._m.post(self._key, content, **self._qos)
                break
            except WouldBlock:
                self._m.room()
        self._count += 1
        if self._count % 256 == 0 and time.monotonic() > self._look:
            self._progress()

    def post_lines(self, source: BinaryIO) -> None:
        """Post each line. A line that is refused locally ends the run; the lines before it are published."""
        if source.isatty():
            print_message("each line is a message; Ctrl-D ends")
        try:
            for line in lines_of(source):
                self.post_content(line)
        except LocalError as error:
            self._m.flush()
            error.what = f"line {self._count + 1}: {error.what}"
            raise

    def report(self, noun: str) -> None:
        """Report the outcome, after all messages are answered."""
        took = time.monotonic() - self._start
        waiting, note = self._m.waiting()
        if waiting:
            said = f"{waiting:,} of them wait: {note}"
            print_message(f"published {count(self._count, noun)} to {self._key}, {said}")
            return
        receivers = self._receipt.result().matched if self._receipt else 0
        what, whom = count(self._count, noun), count(receivers, "receiver")
        print_message(f"published {what} to {self._key}, {whom}, {plainly(took)}")
        if self._count and not receivers:
            where = options.in_domain(self._qos["domain"])
            print_message(f"no subscriber.  To see the next message:  mesh sub {where}{typed(self._key)}")

    def _progress(self) -> None:
        now = time.monotonic()
        self._look = now + STEP
        rate = self._count / (now - self._start)
        print_message(f"{self._count:,} lines so far, {rate:,.0f}/s")


def lines_of(source: BinaryIO) -> Iterator[bytes]:
    """Yield lines without their newlines. A line above the limit of a message is yielded in parts.

    The first of the parts still exceeds the limit, so the message is refused.
    """
    while line := source.readline(MAX_CONTENT_EVER + 1):
        yield line.removesuffix(b"\n")
