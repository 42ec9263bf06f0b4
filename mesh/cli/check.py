"""`mesh check`: reports the health of a node by exit code, for Nagios, Icinga and monit."""

from collections.abc import Callable
from typing import Any

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.options import print_data, tell_json
from mesh.errors import BadArgument, Closed, FeatureFailed, MeshError, MeshTimeout, NodeNotFound, Refused
from mesh.metrics.verdict import CHECKS, Grade, checks_of, findings, line, verdict
from mesh.printable import harmless
from mesh.wire.replies import Info, QueueRows, read_result

GONE = (NodeNotFound, MeshTimeout, Closed, Refused)


class _Unknown(click.ClickException):
    exit_code = Grade.UNKNOWN


class Plugin(click.Command):
    """A command that exits with UNKNOWN on a usage error or a bug, as monitoring systems expect."""

    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        try:
            return super().make_context(*arguments, **more)
        except click.UsageError as error:
            raise _Unknown(error.format_message()) from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except Exception as error:  # a bug here says nothing about the node
            raise _Unknown(f"{type(error).__name__}: {error} [BUG]") from error


def _thresholds(command: Callable[..., int]) -> Callable[..., int]:
    """Add an option for each check."""
    for check in reversed(CHECKS):
        default = f"{check.warning:.15g},{check.critical:.15g}"
        what = f"minimum number of {check.what}" if check.is_least else check.what
        command = click.option(
            f"--{check.name}", metavar="WARN,CRIT", help=f"{what[0].upper()}{what[1:]}. Default: {default}."
        )(command)
    return command


@click.command("check", cls=Plugin)
@_thresholds
@options.as_json
@options.url
def command(as_json: bool, url: str | None, **limits: str | None) -> int:
    """Print the health of a node on one line. Exit code: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.

    A stopped or unreachable node is CRITICAL. Durations are in seconds.

    \b
      mesh check
      mesh check --nodes 3,2 --disk 5e9,1e9 --url heron
    """
    try:
        checks = checks_of(
            {name.replace("_", "-"): text for name, text in limits.items() if text is not None}
        )
        with sync.connect(url) as m:
            info = read_result(Info, m.call("info"))
            found = findings({**figures(info), "queue_age": _queue_age(m)}, checks)
    except MeshError as error:
        is_gone = isinstance(error, GONE) and not isinstance(error, BadArgument)
        grade = Grade.CRITICAL if is_gone else Grade.UNKNOWN
        why = _failing_feature() if is_gone else ""
        print_data([f"MESH {grade.name} - {error}{why}"])
        return grade
    if as_json:
        rows = [{"name": f.check.name, "value": f.value, "grade": f.grade.name} for f in found]
        tell_json({"node": info.name, "verdict": verdict(found).name, "checks": rows})
    else:
        print_data([line(harmless(info.name), found)])
    return verdict(found)


def _failing_feature() -> str:
    """Return the error of an installed feature that prevents all starts here, as text to append, or ""."""
    from mesh.shell.features import installed  # slow

    try:
        installed()
    except FeatureFailed as error:
        return f" {error.what}"
    return ""


def figures(info: Info) -> dict[str, float]:
    """Return the figures to judge, except the age of queued messages."""
    return {**info.metrics, **info.disk, "lag_p99": info.lag_p99}


def _queue_age(m: sync.Client) -> float:
    """Return the age of the oldest message in any queue of the node, in seconds."""
    after, oldest = "", 0.0
    while True:
        page = read_result(QueueRows, m.call("queue_ls", here=True, after=after))
        oldest = max([oldest, *(row.oldest for row in page.queues)])
        if page.more <= after:
            return oldest
        after = page.more
