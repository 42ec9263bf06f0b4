"""Which verb was typed, and what is said when it fails?

A verb's module is imported when that verb is typed: `mesh --help` loads neither ZeroMQ nor rich.
"""

import errno
import io
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

import click

from mesh import __version__
from mesh.errors import CoreFailed, MeshError, MeshTimeout
from mesh.printable import harmless

FULL = (errno.ENOSPC, errno.EDQUOT)
VERBS = {
    "up": "Start a node here, in the foreground.",
    "down": "Stop a node.",
    "drain": "Have what is in its queues go to others.",
    "ls": "Which nodes are there?",
    "top": "All nodes and how busy they are, live.",
    "service": "A node that is always there.",
    "events": "What has happened.",
    "backup": "Copy what a node keeps, and put it back.",
    "log": "What a node writes in its log.",
    "peer": "Where others are, if they are not found.",
    "info": "A node and its counters.",
    "check": "Is a node well? For what watches it.",
    "metrics": "A node's figures for Prometheus.",
    "pub": "Publish one message, or one a line.",
    "sub": "Print messages as they come.",
    "unsub": "End a durable subscription.",
    "get": "Print the last value of a topic.",
    "erase": "Take a topic away.",
    "send": "Send to one named session.",
    "req": "Ask those who serve an address.",
    "reply": "Serve an address by a command.",
    "queue": "Put into queues, and take from them.",
    "inbox": "Print what is sent to a session.",
    "dlq": "Messages that nobody got.",
    "route": "Where would a message go?",
    "why": "Why does something not arrive?",
    "bench": "How fast is it here?",
    "report": "What has happened, in pictures.",
    "ingest": "Gather what the nodes wrote down.",
    "snapshots": "What the nodes wrote down.",
    "weights": "Who gets how much.",
    "config": "Check a configuration file.",
    "init": "Make the keys of a mesh.",
    "join": "Come into a mesh that has keys.",
    "leave": "Go out of a mesh that has keys.",
    "token": "What lets somebody else in.",
    "passwd": "The hash of a node's password.",
}
FAILED, CRASHED, TIMEOUT, INTERRUPTED = 2, 70, 124, 130


class LazyGroup(click.Group):
    """A group whose commands are placeholders with one line of help, until one is wanted."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            command = import_module(f"mesh.cli.{command.name}").command
        return name, command, rest


@click.group(
    cls=LazyGroup,
    commands=[click.Command(verb, short_help=line) for verb, line in VERBS.items()],
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Begin with `mesh up`. Exit code: 0 yes, 1 no, 2 an error, 70 a node failed, 124 too late.",
)
@click.version_option(__version__, prog_name="mesh", message="%(prog)s %(version)s")
def mesh() -> None:
    """A brokerless message mesh."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command line; returns the exit code."""
    if arguments is None:
        # So that a session is closed in time: else its node would keep its subscriptions for a while.
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        code = mesh.main(arguments, prog_name="mesh", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.Abort:  # Ctrl-C
        return INTERRUPTED
    except click.ClickException as error:
        _show(error)
        return error.exit_code
    except MeshError as error:
        return _complain(error)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in FULL and error.filename is None:
            _say(f"mesh: what was to be shown cannot be written: {error.strerror}. [CANNOT_WRITE]")
            return FAILED
        if os.environ.get("MESH_DEBUG"):
            traceback.print_exc()
        else:
            _say(f"mesh: {type(error).__name__}: {error} [BUG]")
            _say("      This should not happen. To see where it did: MESH_DEBUG=1, and the same again.")
        return FAILED


def _show(error: click.ClickException) -> None:
    """Show what click says of a command line, which holds what somebody has typed, or pasted."""
    said = io.StringIO()
    error.show(file=said)
    for line in said.getvalue().splitlines():
        _say(line)


def _complain(error: MeshError) -> int:
    """Say what happened, then what to type next; returns the exit code."""
    if os.environ.get("MESH_DEBUG"):
        traceback.print_exception(error)
    _say(f"mesh: {error.what} [{error.code}]")
    if error.hint:
        _say(f"      {error.hint}")
    if isinstance(error, CoreFailed):
        return CRASHED
    return TIMEOUT if isinstance(error, MeshTimeout) else FAILED


def _say(text: str) -> None:
    click.echo(harmless(text), file=sys.stderr)
