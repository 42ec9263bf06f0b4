"""The command `tools/lab jobs`."""

from __future__ import annotations

import secrets
import sys

import click

from tools.lab_parts.jobs.run import JobsPlan, JobsResult, jobs_done


@click.command()
@click.option("--jobs", "count", type=click.IntRange(1), default=10_000, show_default=True, metavar="N")
@click.option(
    "--pause",
    type=click.FloatRange(min=0.05),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="Seconds between two kills, on average.",
)
@click.option("--database", type=click.Choice(["sqlite", "postgresql"]), default="sqlite", show_default=True)
@click.option(
    "--restores",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="N",
    help="Restore a copy of the writer's database N times under load.",
)
@click.option(
    "--seed", type=int, metavar="S", help="Seed of the kills. Default: a new one, which is printed."
)
def jobs(count: int, pause: float, database: str, restores: int, seed: int | None) -> None:
    """Do N jobs in a database, each once, while clients, node and database are killed with SIGKILL."""
    seed = secrets.randbelow(1_000_000) if seed is None else seed
    plan = JobsPlan(count, pause, database == "sqlite", seed, restores)
    result = jobs_done(plan, lambda _, what: click.echo(what, err=True))
    click.echo(described(plan, result))
    sys.exit(bool(result.anomalies))


def described(plan: JobsPlan, result: JobsResult) -> str:
    kills = ", ".join(f"{n} {what}" for what, n in sorted(result.kills.items()))
    lines = [
        f"seed {plan.seed}: {plan.count:,} jobs in {result.seconds:.0f} s; killed: {kills or 'nothing'}",
        *result.anomalies,
    ]
    return "\n".join(lines) if result.anomalies else f"{lines[0]}; each job was done once"
