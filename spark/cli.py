"""The command line of Spark jobs, and its error output.

The module of a job is imported when the job is requested, so the list of jobs needs no PySpark.
"""

import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

import click

from mesh.history.errors import SparkJobError
from mesh.history.printable import visible

JOBS = {
    "ingest": ("mesh.history.ingest_command", "Gather snapshots of nodes in a history."),
    "compact": ("mesh.history.compact_command", "Merge small files into large ones."),
    "set-aside": ("mesh.history.aside_command", "Set a damaged file of a history aside."),
    "report": ("mesh.history.report.command", "Report the history, with charts."),
    "weights": ("mesh.history.weights_command", "Learn the balancing weight of each node."),
}
FAILED, INTERRUPTED = 2, 130


class Jobs(click.Group):
    """A group whose commands are placeholders with one line of help until they are invoked."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and command.name in JOBS:
            if find_spec("pyspark") is None:
                what = "PySpark is not installed in this Python."
                raise SparkJobError(what, "Run:  pip install 'heronry[spark]'", "NO_SPARK")
            command = import_module(JOBS[command.name][0]).command
        return name, command, rest


@click.group(
    cls=Jobs,
    commands=[click.Command(job, short_help=line) for job, (_, line) in JOBS.items()],
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="On a cluster: spark-submit [OPTION]... PATH/mesh/history/__main__.py JOB ...; see docs/spark.md.",
)
def spark() -> None:
    """Run Spark jobs on the history of a mesh."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, and return its exit code."""
    try:
        code = spark.main(arguments, prog_name="spark", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.Abort:  # Ctrl-C
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except SparkJobError as error:
        if os.environ.get("MESH_DEBUG"):
            traceback.print_exception(error)
        return _complain(error.what, error.hint, error.code)
    except Exception as error:
        if os.environ.get("MESH_DEBUG"):
            traceback.print_exception(error)
        hint = "This is a bug: report it, with the traceback that MESH_DEBUG=1 shows."
        return _complain(f"{type(error).__name__}: {error}", hint, "BUG")


def _complain(what: str, hint: str, code: str) -> int:
    click.echo(f"spark: {visible(what)} [{code}]\n       {visible(hint)}", file=sys.stderr)
    return FAILED
