"""The commands of `tools/lab` that run a workload under faults and check its messages."""

import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

from tools.lab_parts.faults import DISK, NETWORK, PROCESS, ROWS
from tools.lab_parts.netlab import why_not
from tools.lab_parts.queue_soak import QueuePlan, queues_soaked
from tools.lab_parts.service_soak import ServicePlan, services_soaked
from tools.lab_parts.shown import queues_shown, services_shown, sites_shown, soak_shown, visits_shown
from tools.lab_parts.site_soak import SitePlan, sites_soaked
from tools.lab_parts.soak import Plan, soaked
from tools.lab_parts.visit_soak import VisitPlan, visits_soaked
from tools.lab_parts.week.growth import MIB
from tools.lab_parts.week.plan import WeekPlan
from tools.lab_parts.week.scenario import a_week
from tools.lab_parts.week.shown import shown as week_shown

FAILED = 1  # exit code
NEED_ROOT = sorted({*NETWORK, *DISK})


def _rows(ctx: click.Context, param: click.Parameter, value: str | None) -> list[int]:
    if value is None:
        return sorted(PROCESS if why_not() else ROWS)
    rows = [int(row) for row in value.split(",") if row.isdecimal()] if value else []
    if len(rows) != len(value.split(",") if value else []) or not ROWS.keys() >= set(rows):
        raise click.BadParameter(f"{value!r}: rows are {', '.join(map(str, sorted(ROWS)))}")
    return rows


run_seconds = click.option(
    "--seconds", type=click.FloatRange(min=1), default=600, show_default=True, help="Length in seconds."
)
same_rows = click.option(
    "--rows", callback=_rows, metavar="R,…", help="Rows of the fault matrix, as for `soak`."
)


@contextmanager
def _progress(seed: int, total: float, *more: ProgressColumn) -> Iterator[Callable[[float, str], None]]:
    """Show the progress of a run; the yielded function updates it with the progress and a description."""
    columns = (TextColumn("{task.description}"), BarColumn(), *more, TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(f"seed {seed}", total=total)
        yield lambda over, what: progress.update(task, completed=over, description=f"seed {seed}, {what}")


@click.command()
@click.option(
    "--messages",
    type=click.IntRange(min=1),
    default=100_000,
    show_default=True,
    help="End after this number of answers.",
)
@click.option(
    "--rate",
    type=click.IntRange(min=1),
    default=2_000,
    show_default=True,
    help="Messages per second of each of the three publishers.",
)
@click.option(
    "--rows",
    callback=_rows,
    metavar="R,…",
    help=f"Rows of the fault matrix; {', '.join(map(str, NEED_ROOT))} need root. Default: all that can run.",
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the faults. Default: random.")
def soak(messages: int, rate: int, rows: list[int], seed: int | None) -> None:
    """Publish while nodes and network fail; then check that each message arrived once and in order."""
    plan = Plan(messages, rate, rows, secrets.randbelow(1_000_000) if seed is None else seed)
    with _progress(plan.seed, messages, MofNCompleteColumn()) as tell:
        result = soaked(plan, tell)
    Console().print(soak_shown(plan, result))
    sys.exit(0 if result.is_clean else FAILED)


@click.command()
@run_seconds
@click.option(
    "--rate",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Messages per second of each of the ten publishers.",
)
@same_rows
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the run. Default: random.")
def queues(seconds: float, rate: int, rows: list[int], seed: int | None) -> None:
    """Put and consume at five nodes while clients, nodes and network fail; then count the messages."""
    plan = QueuePlan(seconds, rate, rows, secrets.randbelow(1_000_000) if seed is None else seed)
    with _progress(plan.seed, seconds) as tell:
        result = queues_soaked(plan, tell)
    Console().print(queues_shown(plan, result))
    sys.exit(0 if result.is_clean else FAILED)


@click.command()
@run_seconds
@click.option(
    "--rate",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Messages per second of each of the ten publishers.",
)
@same_rows
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the run. Default: random.")
def services(seconds: float, rate: int, rows: list[int], seed: int | None) -> None:
    """Serve and request at five nodes while clients, nodes and network fail; then count the messages."""
    plan = ServicePlan(seconds, rate, rows, secrets.randbelow(1_000_000) if seed is None else seed)
    with _progress(plan.seed, seconds) as tell:
        result = services_soaked(plan, tell)
    Console().print(services_shown(plan, result))
    sys.exit(0 if result.is_clean else FAILED)


@click.command()
@click.option(
    "--kills", type=click.IntRange(min=1), default=50, show_default=True, help="Number of killed gateways."
)
@click.option(
    "--rate",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="Messages per second of each of the three publishers.",
)
@click.option("--seed", type=click.IntRange(min=0), help="Random seed for the kills. Default: random.")
def sites(kills: int, rate: int, seed: int | None) -> None:
    """Publish at one site and read at another while gateways of both are killed; then count. Needs root."""
    plan = SitePlan(kills, rate, secrets.randbelow(1_000_000) if seed is None else seed)
    with _progress(plan.seed, kills, MofNCompleteColumn()) as tell:
        result = sites_soaked(plan, tell)
    Console().print(sites_shown(plan, result))
    sys.exit(0 if result.is_clean else FAILED)


@click.command()
@click.option(
    "--kills", type=click.IntRange(min=1), default=50, show_default=True, help="Number of killed nodes."
)
@click.option("--clients", type=click.IntRange(min=4), default=100, show_default=True, help="Clients.")
@click.option(
    "--back",
    type=click.FloatRange(min=5, max=600),
    default=30,
    show_default=True,
    help="Seconds until a killed node starts again.",
)
@click.option("--drain", is_flag=True, help="Drain and restart the nodes one by one instead.")
@click.option("--seed", type=click.IntRange(min=0), help="Random seed for the kills. Default: random.")
def visits(kills: int, clients: int, back: float, drain: bool, seed: int | None) -> None:
    """Kill one of three nodes with clients that publish, subscribe, consume and request; then count."""
    plan = VisitPlan(kills, clients, back, secrets.randbelow(1_000_000) if seed is None else seed, drain)
    with _progress(plan.seed, kills, MofNCompleteColumn()) as tell:
        result = visits_soaked(plan, tell)
    Console().print(visits_shown(plan, result))
    sys.exit(0 if result.is_clean else FAILED)


@click.command()
@click.option(
    "--minutes",
    type=click.FloatRange(min=0.1, max=600),
    default=15,
    show_default=True,
    help="Length of the run in minutes.",
)
@click.option(
    "--days",
    type=click.FloatRange(min=0.01, max=30),
    default=7,
    show_default=True,
    help="Days of history that the nodes begin with, 0.4 GB each.",
)
@click.option(
    "--rate",
    type=click.IntRange(1, 5_000),
    default=200,
    show_default=True,
    help="Messages per second of each of the three publishers.",
)
@click.option(
    "--kept",
    type=click.IntRange(1, 4096),
    default=256,
    show_default=True,
    help="Limit of the snapshots of a node, in MiB.",
)
@click.option(
    "--log", type=click.IntRange(1), default=1024, show_default=True, help="Limit of each log file, in KiB."
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the history. Default: random.")
def week(minutes: float, days: float, rate: int, kept: int, log: int, seed: int | None) -> None:
    """Upgrade, back up and restore nodes with a history under load; count messages, and measure growth."""
    seed = secrets.randbelow(1_000_000) if seed is None else seed
    plan = WeekPlan(60 * minutes, days, rate, seed, kept * MIB, log * 1024)
    with _progress(plan.seed, plan.seconds) as tell:
        result = a_week(plan, tell)
    Console().print(week_shown(plan, result))
    sys.exit(0 if result.is_clean else FAILED)
