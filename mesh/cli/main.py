"""The entry point of the `mesh` command, which finds the verb and reports failures.

The module of a verb is imported only when the verb is used: `mesh --help` loads neither ZeroMQ nor rich.
"""

import errno
import io
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import ExitStack, redirect_stderr, suppress
from importlib import import_module
from typing import Any, NoReturn

import click

from mesh import __version__
from mesh.cli.completing import VARIABLE
from mesh.cli.contexts import held
from mesh.cli.examples import shown
from mesh.cli.plugged import command_of
from mesh.cli.process_one import leave_to_child
from mesh.cli.streams import mend_streams
from mesh.cli.verbs import AT_HOME, OPERATES, REMOVED, SECTIONS, VERBS, module_of
from mesh.client import operating
from mesh.errors import BadArgument, CoreFailed, KeysRefused, MeshError, MeshTimeout, NodeNotFound, Refused
from mesh.printable import harmless
from mesh.shortening import shortened

FULL = (errno.ENOSPC, errno.EDQUOT)
FAILED, CRASHED, TIMEOUT, INTERRUPTED = 2, 70, 124, 130


class LazyGroup(click.Group):
    """A command group of placeholders with one line of help each. A command is loaded when it is used."""

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return super().get_command(ctx, name) or command_of(name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in REMOVED and self.get_command(ctx, args[0]) is None:
            ctx.fail(f"The verb {args[0]!r} was removed. {REMOVED[args[0]]}")
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and name is not None:
            if name in VERBS:
                command = with_examples(import_module(module_of(name)).command, name)
            if name not in AT_HOME and not ctx.resilient_parsing and not {"-h", "--help"}.intersection(args):
                ctx.obj = ctx.with_resource(held(os.environ))
        return name, command, rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb. If a context applies, hints of errors about node or keys name the context."""
        try:
            return super().invoke(ctx)
        except (NodeNotFound, KeysRefused, Refused) as error:
            if ctx.obj:
                error.hint = f"{error.hint} The context {ctx.obj!r} applies: see `mesh context ls`.".lstrip()
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs by section instead of one list."""
        for title, verbs in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(verbs.items()))


def with_examples(command: click.Command, path: str) -> click.Command:
    """Append examples to the help of `command` and of its subcommands."""
    if (examples := shown(path)) and examples not in (command.epilog or ""):
        command.epilog = "\n\n".join(filter(None, (examples, command.epilog)))
    for name, below in getattr(command, "commands", {}).items():
        with_examples(below, f"{path} {name}")
    return command


@click.group(
    cls=LazyGroup,
    commands=[click.Command(verb, short_help=line) for verb, line in VERBS.items()],
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with `mesh up`. Exit codes: 0 success, 1 negative result (see the command), 2 error, "
    "70 node failed, 124 timeout (`mesh wait`: 1).",
)
@click.version_option(__version__, prog_name="mesh", message="%(prog)s %(version)s")
@click.pass_context
def mesh(ctx: click.Context) -> None:
    """A brokerless message mesh."""
    operating.mark(ctx.invoked_subcommand in OPERATES)


def main(arguments: Sequence[str] | None = None, command: click.Command = mesh, program: str = "mesh") -> int:
    """Run a command line and return the exit code. `program` is the name of `command` in its help."""
    if arguments is None:
        leave_to_child()
        mend_streams()
        # A signal must close the session. Otherwise the node would keep its subscriptions for a while.
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, lambda number, _: sys.exit(128 + number))
    if arguments is None and VARIABLE in os.environ:
        _complete()
    try:
        code = command.main(arguments, prog_name=program, standalone_mode=False)
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
            _say(f"mesh: the output cannot be written: {error.strerror}. [CANNOT_WRITE]")
            return FAILED
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            return _complain(
                BadArgument(f"{error.filename}: {error.strerror}.", hint="Choose a shorter name.")
            )
        if os.environ.get("MESH_DEBUG"):
            traceback.print_exc()
        else:
            _say(shortened(f"mesh: {type(error).__name__}: {error} [BUG]"))
            _say("      This is a bug. For a traceback, run the command again with MESH_DEBUG=1.")
        return FAILED
    finally:
        operating.mark(False)


def _complete() -> NoReturn:
    """Answer a completion request of the shell, and exit without waiting for threads."""
    code = 0
    with suppress(BaseException), open(os.devnull, "w") as nothing, redirect_stderr(nothing):
        with suppress(MeshError):
            ExitStack().enter_context(held(os.environ))  # until the process ends
        try:
            mesh.main(prog_name="mesh", standalone_mode=False)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        sys.stdout.flush()
    os._exit(code)


def _show(error: click.ClickException) -> None:
    """Print an error of click, shortened, because the command line may contain pasted text."""
    said = io.StringIO()
    error.show(file=said)
    for line in said.getvalue().splitlines():
        _say(shortened(line))
    if "extra argument" in error.format_message() and _takes_url(error):
        _say("To choose a node: --url NAME")


def _takes_url(error: click.ClickException) -> bool:
    """Return whether the command that was used asks a node."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    return context is not None and any("--url" in option.opts for option in context.command.params)


def _complain(error: MeshError) -> int:
    """Print the error and its hint. Return the exit code."""
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
