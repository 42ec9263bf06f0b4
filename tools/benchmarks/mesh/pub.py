"""`tools/bench mesh pub`: publishes for `tools/bench mesh sub` in another process."""

import time

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.options import plainly, print_message, tell_json
from tools.benchmarks.mesh import load as load
from tools.benchmarks.mesh.load import Plan, publish_for_others


@click.command("pub", short_help="Publish for `tools/bench mesh sub`.")
@load.count
@load.size
@load.topics
@load.seconds
@click.option(
    "--rate",
    type=options.FiniteNumber(min=0, min_open=True),
    metavar="N",
    help="Publish N messages a second. Default: as fast as the node accepts.",
)
@options.persistent
@options.domain
@options.as_json
@options.url
def pub(
    number: int,
    size: int,
    topics: int,
    seconds: float,
    rate: float | None,
    persistent: bool,
    domain: str | None,
    as_json: bool,
    url: str | None,
) -> None:
    """Publish for `tools/bench mesh sub`, which must be started first in another process.

    The command ends when all messages are answered, and prints the number of subscribers of the last message.
    """
    plan = Plan(number, size, topics, seconds, rate, {"persistent": persistent, "domain": domain})
    with sync.connect(url) as m:
        options.tell_of_connection(m)
        start = time.monotonic()
        published, receivers = publish_for_others(m, plan, "pub")
        took = time.monotonic() - start
        waiting, note = m.waiting()
    _tell(plan, published, took, receivers, waiting, as_json)
    if waiting:
        print_message(f"{waiting:,} of them wait: {note}")
    elif not receivers:
        where = f" {options.in_domain(domain)}".rstrip()
        print_message(f"no subscriber.  To count messages, first run:  tools/bench mesh sub{where}")


def _tell(plan: Plan, published: int, took: float, receivers: int, waiting: int, as_json: bool) -> None:
    if as_json:
        tell_json(
            {
                "published": published,
                "seconds": took,
                "publish_rate": published / took,
                "receivers": receivers,
                "waiting": waiting,
            }
        )
    else:
        whom = options.count(receivers, "subscriber")
        click.echo(f"pub: {plan.describe(published)}")
        click.echo(f"  published {published / took:>9,.0f}/s   in {plainly(took)}   to {whom}")
