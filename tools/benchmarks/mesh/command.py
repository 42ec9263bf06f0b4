"""`tools/bench mesh`: measures throughput and latency, and checks that messages arrive once and in order."""

import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import reduce
from typing import Any

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.options import plainly, print_data, tell_json
from tools.benchmarks.mesh import load as load
from tools.benchmarks.mesh.get import get
from tools.benchmarks.mesh.load import BENCH, Plan, new_run, publish, until_heard
from tools.benchmarks.mesh.pub import pub
from tools.benchmarks.mesh.req import req
from tools.benchmarks.mesh.sub import sub
from tools.benchmarks.mesh.tally import Result, RunTally, summary

RATE, LONE = 500.0, 1000  # messages a second, and their number, for latency
PARTS = ("throughput", "latency")


class DefaultGroup(click.Group):
    """A command group that runs `all` when no subcommand is given."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["all", *args]
        return super().parse_args(ctx, args)


@click.group("mesh", cls=DefaultGroup, commands=[pub, sub, get, req])
def command() -> None:
    """Measure throughput and latency, and check that every message arrives once and in order.

    Without a COMMAND, run `throughput` and `latency` in one process. To measure between two machines or
    processes, start `tools/bench mesh sub` in one and `tools/bench mesh pub` in the other. Exit code 1: a
    message was lost, duplicated or out of order.
    """


def alone(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options of a benchmark that runs in this process alone."""
    to = click.option(
        "--to", metavar="ADDRESS", help="Subscribe at the node ADDRESS. Default: the node of --url."
    )
    given = (load.count, load.size, load.topics, load.seconds, to, options.as_json, options.url)
    return reduce(lambda wrapped, option: option(wrapped), reversed(given), function)


@command.command("all")
@click.argument("part", type=click.Choice(["all", *PARTS]), default="all", metavar="")
@alone
def everything(part: str, **given: Any) -> int:
    """Measure throughput, then latency with at most 1,000 messages, in this process."""
    return run(PARTS if part == "all" else (part,), **given)


@command.command("throughput")
@alone
def throughput(**given: Any) -> int:
    """Measure throughput in this process."""
    return run(("throughput",), **given)


@command.command("latency")
@alone
def latency(**given: Any) -> int:
    """Measure latency in this process, with 500 messages a second, at most 1,000."""
    return run(("latency",), **given)


def run(
    parts: tuple[str, ...],
    number: int,
    size: int,
    topics: int,
    seconds: float,
    to: str | None,
    as_json: bool,
    url: str | None,
) -> int:
    """Run the benchmarks `parts` and print their results. Return the exit code."""
    plans = {
        "throughput": Plan(number, size, topics, seconds),
        "latency": Plan(min(number, LONE), size, topics, seconds, RATE),
    }
    results = {}
    for name in parts:
        results[name] = measure(name, plans[name], url, to)
        if not as_json:
            print_data(_told(name, plans[name], results[name]))
    if as_json:
        tell_json({name: asdict(result) for name, result in results.items()})
    return 0 if all(result.is_right for result in results.values()) else 1


def measure(name: str, plan: Plan, url: str | None, to: str | None) -> Result:
    """Publish at one node and subscribe at the same or another one. Return the figures."""
    tally = RunTally(new_run())
    with (
        sync.connect(url) as m,
        sync.connect(to or url) as n,
        n.subscribe(pattern=BENCH, initial=False) as subscription,
    ):
        until_heard(m, subscription)
        reader = threading.Thread(target=tally.read, args=(subscription,), daemon=True)
        reader.start()
        began = time.monotonic_ns()
        published = publish(m, plan, tally.run, name)
        took = (time.monotonic_ns() - began) / 1e9
        tally.expected = published
        reader.join()
    return summary(tally, published, took, began)


def _told(name: str, plan: Plan, result: Result) -> list[str]:
    return [
        f"{name}: {plan.describe(result.published)}",
        f"  published {result.publish_rate:>9,.0f}/s",
        f"  received  {result.receive_rate:>9,.0f}/s   lost {result.lost:,}   doubled {result.doubled:,}   "
        f"disordered {result.disordered:,}",
        f"  latency   p50 {plainly(result.p50)}   p99 {plainly(result.p99)}   worst {plainly(result.worst)}",
    ]
