"""`mesh drain --clients`: empties a node, and shows how much is left."""

import os
import re
import subprocess
import sys
import time

import click
from msgspec import to_builtins

from mesh import sync
from mesh.cli import options
from mesh.cli.options import print_message, tell_json
from mesh.cli.table import tell_table
from mesh.errors import LocalError, MeshTimeout
from mesh.printable import harmless, typed
from mesh.wire.replies import LeftRow, NodeDrained, read_result

PAUSE, SAYS = 0.2, 2.0  # s between two questions, and between two lines
WIDTH = 30  # characters of the bar
# The steps of a drain in words; one of a later release is shown as its name.
STEPS = {
    "closed": "admits no new clients",
    "quiet": "finishes calls",
    "clients": "sends clients away",
    "queues": "moves messages of queues",
    "outbound": "forwards messages",
    "log": "delivers messages to other nodes",
    "done": "drained",
}
PLURAL, ONE = re.compile(r"\b(client|message|session)s\b"), r"\1"


def bar(left: int, most: int, width: int = WIDTH) -> str:
    """Return a bar of `width` characters that is empty while all of `most` are left, and full at 0."""
    empty = 0 if left <= 0 else max(1, min(width, round(width * left / max(most, 1))))
    return f"[{'#' * (width - empty)}{'.' * empty}]"


def summary(found: NodeDrained) -> str:
    """Return what the drain waits for, as one line."""
    amounts: dict[str, int] = {}
    for row in found.left:
        if row.fate == "moves":
            amounts[row.what] = amounts.get(row.what, 0) + row.count
    return ", ".join(counted(amount, what) for what, amount in amounts.items()) or "nothing"


def in_words(step: str) -> str:
    """Return what a node does in a step of its drain."""
    return STEPS.get(step, harmless(step))


def counted(amount: int, what: str) -> str:
    """Return a number with a plural phrase, which becomes singular for 1, such as "1 message of queues"."""
    return f"{amount:,} {PLURAL.sub(ONE, what, count=1) if amount == 1 else what}"


def moving(found: NodeDrained) -> int:
    """Return how many things still have to move."""
    return sum(row.count for row in found.left if row.fate == "moves")


def line(name: str, found: NodeDrained, most: int, columns: int = 0) -> str:
    """Return the progress of a drain as a line that fits into a terminal; 0 columns: no terminal.

    `most` is the largest number of things that had to move.
    """
    left = moving(found)
    drawn = bar(left, most, min(WIDTH, columns // 4) if columns else WIDTH)
    text = (
        f"{drawn} {name} {in_words(found.step)}: {harmless(summary(found))} remain{'' if left > 1 else 's'}"
    )
    # A character in the last column would break the line on some terminals.
    return text if not columns or len(text) < columns else f"{text[: columns - 2]}…"


def _columns() -> int:
    """Return the width of the terminal on stderr."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


class Progress:
    """The progress of a drain on stderr: a bar that is drawn again, or a line every SAYS seconds."""

    def __init__(self, name: str) -> None:
        self._name = harmless(name)
        self._is_terminal = sys.stderr.isatty()
        self._most = 0
        self._told = float("-inf")

    def show(self, found: NodeDrained) -> None:
        left, now = moving(found), time.monotonic()
        self._most = max(self._most, left)
        text = line(self._name, found, self._most, _columns() if self._is_terminal else 0)
        if self._is_terminal:
            click.echo(f"\r\x1b[K{text}", nl=False, err=True)
        elif now >= self._told + SAYS:
            self._told = now
            print_message(text)

    def end(self) -> None:
        if self._is_terminal:
            click.echo("", err=True)


def drain(url: str | None, limit: float | None, then: str, as_json: bool) -> int:
    """Drain a node with its clients, wait until it is empty, run `then`, and return the exit code."""
    with sync.connect(url) as m:
        name = m.call("info")["name"]
        found = ask_node(m, "begin")
        options.tell_of_connection(m)
        try:
            found = _waited(m, name, found, limit)
        except KeyboardInterrupt:
            print_message(f"the drain of {harmless(name)} continues.  {_hints(name)}")
            raise
    _tell_end(name, found, as_json)
    if not found.is_complete:
        if then:
            print_message(f"not run, because something is left: {harmless(then)}")
        return 1
    # The user who types the command line is the one whose shell runs it.
    code = subprocess.run(then, shell=True, check=False).returncode if then else 0
    return code if code >= 0 else 128 - code  # as a shell reports a signal


def ask_node(m: sync.Client, do: str) -> NodeDrained:
    """Ask a node to begin, cancel or report its drain. Raises: LocalError."""
    return read_result(NodeDrained, m.call("drain", do=do))


def tell_look(name: str, found: NodeDrained, as_json: bool) -> int:
    """Print the progress of a drain with clients, and return 0 if it is complete, else 1."""
    if as_json:
        tell_json(to_builtins(found))
    else:
        _tell_state(name, found)
    return 0 if found.is_complete else 1


def _waited(m: sync.Client, name: str, found: NodeDrained, limit: float | None) -> NodeDrained:
    """Wait until the drain is done. Raises: MeshTimeout; LocalError DRAIN_CANCELLED."""
    progress = Progress(name)
    try:
        while found.step != "done" or moving(found):
            if not found.drains:
                what = f"The drain of {name} was ended by another command or a restart."
                raise LocalError(what, hint="Run the command again to start again.", code="DRAIN_CANCELLED")
            if limit is not None and time.monotonic() >= limit:
                what = f"{name} still has {summary(found)}; the drain continues."
                raise MeshTimeout(what, hint=_hints(name))
            progress.show(found)
            time.sleep(PAUSE)
            try:
                found = ask_node(m, "look")
            except MeshTimeout:  # unreachable; the drain continues
                continue
        progress.show(found)
    finally:
        progress.end()
    return found


def _hints(name: str) -> str:
    at = typed(name)
    return f"To watch it: mesh drain --clients --url {at}.  To end it: mesh drain --cancel --url {at}"


def _tell_end(name: str, found: NodeDrained, as_json: bool) -> None:
    if as_json:
        tell_json(to_builtins(found))
        return
    _tell_state(name, found)
    print_message(f"to end the drain:  mesh drain --cancel --url {typed(name)}")


def _tell_state(name: str, found: NodeDrained) -> None:
    at = typed(name)
    if found.is_complete:
        print_message(f"{harmless(name)} is empty.  To stop it:  mesh down --url {at}")
    elif found.step == "done":
        print_message(
            f"{harmless(name)} is drained, but not empty.  To retry:  mesh drain --clients --url {at}"
        )
    else:
        print_message(f"{harmless(name)} is being drained with its clients: it {in_words(found.step)}")
    _tell_left(found.left)
    if any(row.fate == "waits" for row in found.left):
        print_message('state "waits": kept on disk, for nodes that are down or clients that are absent')


def _tell_left(rows: list[LeftRow]) -> None:
    if rows:
        table = [
            (in_words(row.step), row.what, f"{row.count:,}", row.fate, row.node, row.why) for row in rows
        ]
        tell_table(("STEP", "LEFT", "NUMBER", "STATE", "NODE", "WHY"), table, folded="WHY")
