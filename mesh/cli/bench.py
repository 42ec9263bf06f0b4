"""`mesh bench`: how fast is it here, and does everything arrive once and in order?"""

import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import reduce
from typing import Any

import click

from mesh import sync
from mesh.cli import bench_load as load
from mesh.cli import options
from mesh.cli.bench_get import get
from mesh.cli.bench_load import BENCH, Plan, new_run, publish, until_heard
from mesh.cli.bench_pub import pub
from mesh.cli.bench_req import req
from mesh.cli.bench_sub import sub
from mesh.cli.bench_tally import Result, RunTally, summary
from mesh.cli.options import plainly, tell, tell_json

RATE, LONE = 500.0, 1000  # messages a second, and how many, when single messages are timed
PARTS = ("throughput", "latency")


class DefaultGroup(click.Group):
    """Without a part, it is all that can be done in this one process."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["all", *args]
        return super().parse_args(ctx, args)


@click.group("bench", cls=DefaultGroup, commands=[pub, sub, get, req])
def command() -> None:
    """Measure how fast it is here, and whether everything arrives once and in order.

    Without a COMMAND: all. To measure between two machines or processes, start `mesh bench sub` in one and
    `mesh bench pub` in the other. Each COMMAND has --json, and --url or MESH_URL for its node. Exit code 1 if
    a message was lost, doubled or out of order.
    """


def alone(function: Callable[..., int]) -> Callable[..., int]:
    """The options of what runs in this one process."""
    to = click.option("--to", metavar="ADDRESS", help="The subscriber's node. Default: the publisher's.")
    given = (load.count, load.size, load.topics, load.seconds, to, options.as_json, options.url)
    return reduce(lambda wrapped, option: option(wrapped), reversed(given), function)


@command.command("all")
@click.argument("part", type=click.Choice(["all", *PARTS]), default="all", metavar="")
@alone
def everything(part: str, **given: Any) -> int:
    """Throughput, then latency, in this one process."""
    return run(PARTS if part == "all" else (part,), **given)


@command.command("throughput")
@alone
def throughput(**given: Any) -> int:
    """As fast as they are taken, in this one process."""
    return run(("throughput",), **given)


@command.command("latency")
@alone
def latency(**given: Any) -> int:
    """Single messages, 500 a second, in this one process."""
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
    """Measure these parts and tell what came of it."""
    plans = {
        "throughput": Plan(number, size, topics, seconds),
        "latency": Plan(min(number, LONE), size, topics, seconds, RATE),
    }
    results = {}
    for name in parts:
        results[name] = measure(name, plans[name], url, to)
        if not as_json:
            tell(_told(name, plans[name], results[name]))
    if as_json:
        tell_json({name: asdict(result) for name, result in results.items()})
    return 0 if all(result.is_right for result in results.values()) else 1


def measure(name: str, plan: Plan, url: str | None, to: str | None) -> Result:
    """Publish at one node, and subscribe at it or another."""
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
        f"{name}: {plan.told(result.published)}",
        f"  published {result.publish_rate:>9,.0f}/s",
        f"  received  {result.receive_rate:>9,.0f}/s   lost {result.lost:,}   doubled {result.doubled:,}   "
        f"disordered {result.disordered:,}",
        f"  latency   p50 {plainly(result.p50)}   p99 {plainly(result.p99)}   worst {plainly(result.worst)}",
    ]
