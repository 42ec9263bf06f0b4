"""`mesh bench`: how fast is it here, and does everything arrive once and in order?"""

import random
import struct
import threading
import time
from dataclasses import asdict, dataclass

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from mesh import sync
from mesh.cli import options
from mesh.cli.options import count, plainly, tell_json
from mesh.errors import MeshTimeout, WouldBlock

HEAD = struct.Struct(
    "<QQQ"
)  # run, number, when it was posted (ns of the clock that a machine's processes share)
RATE, LONE = 500.0, 1000  # messages a second, and how many, when single messages are timed
PATIENCE = 5.0  # s without any message after which the rest counts as lost
STEP = 1000  # messages between two looks at clock and progress


@dataclass(frozen=True, slots=True)
class Plan:
    """`rate` in messages a second; None: as fast as they are taken. `seconds`: stop publishing then."""

    count: int
    size: int
    topics: int
    seconds: float
    rate: float | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """Rates in messages a second, latencies (from `post` to the subscriber's loop) in seconds."""

    published: int
    publish_rate: float
    receive_rate: float
    lost: int
    doubled: int
    disordered: int
    p50: float
    p99: float
    worst: float

    @property
    def is_right(self) -> bool:
        return not (self.lost or self.doubled or self.disordered)


class Tally:
    """What a subscriber has of one run."""

    def __init__(self, run: int) -> None:
        self.run = run
        self.expected: int | None = None  # known when all are published
        self.arrived = self.doubled = self.disordered = 0
        self.first = self.last = 0  # ns
        self.latencies: list[int] = []
        self._seen: set[int] = set()
        self._highest = -1

    def read(self, subscription: sync.Subscription) -> None:
        """Until all that is expected has come, or nothing comes any more."""
        heard = time.monotonic()
        while self.expected is None or (self.arrived < self.expected and time.monotonic() < heard + PATIENCE):
            try:
                batch = subscription.next_batch(timeout=0.2)
            except MeshTimeout:
                continue
            if batch is None:
                return
            heard = time.monotonic()
            self.add(batch.contents())

    def add(self, contents: list[bytes]) -> None:
        """What came together."""
        now = time.monotonic_ns()
        self.first, self.last = self.first or now, now
        for content in contents:
            run, number, sent = HEAD.unpack_from(content)
            if run != self.run:
                continue  # somebody else's bench
            if number in self._seen:
                self.doubled += 1
                continue
            self.disordered += number < self._highest
            self._highest = max(self._highest, number)
            self._seen.add(number)
            self.arrived += 1
            self.latencies.append(now - sent)


@click.command("bench")
@click.argument("part", type=click.Choice(["all", "throughput", "latency"]), default="all")
@click.option("--count", "number", type=click.IntRange(1, 1_000_000), default=100_000, show_default=True)
@click.option(
    "--size", type=click.IntRange(HEAD.size, 1 << 20), default=100, show_default=True, help="Bytes of each."
)
@click.option("--topics", type=click.IntRange(1, 10_000), default=1, show_default=True, help="In rotation.")
@click.option(
    "--seconds", type=click.FloatRange(1, 3600), default=30, show_default=True, help="At most, each part."
)
@click.option("--to", metavar="ADDRESS", help="The subscriber's node. Default: the publisher's.")
@options.as_json
@options.url
def command(
    part: str,
    number: int,
    size: int,
    topics: int,
    seconds: float,
    to: str | None,
    as_json: bool,
    url: str | None,
) -> int:
    """How fast is it here, and does everything arrive once and in order?

    throughput: as fast as they are taken. latency: single messages, 500 a second. Both run in this one
    process. Exit code 1 if a message was lost, doubled or out of order.
    """
    plans = {
        "throughput": Plan(number, size, topics, seconds),
        "latency": Plan(min(number, LONE), size, topics, seconds, RATE),
    }
    results = {}
    for name, plan in plans.items():
        if part in ("all", name):
            results[name] = measure(name, plan, url, to)
            if not as_json:
                click.echo("\n".join(_told(name, plan, results[name])))
    if as_json:
        tell_json({name: asdict(result) for name, result in results.items()})
    return 0 if all(result.is_right for result in results.values()) else 1


def measure(name: str, plan: Plan, url: str | None, to: str | None) -> Result:
    """Publish at one node, and subscribe at it or another."""
    tally = Tally(random.getrandbits(64))
    with (
        sync.connect(url) as m,
        sync.connect(to or url) as n,
        n.subscribe(pattern="bench/#", initial=False) as subscription,
    ):
        reader = threading.Thread(target=tally.read, args=(subscription,), daemon=True)
        reader.start()
        start = time.monotonic()
        published = publish(m, plan, tally.run, name)
        took = time.monotonic() - start
        tally.expected = published
        reader.join()
    return summary(tally, published, took)


def publish(m: sync.Client, plan: Plan, run: int, name: str) -> int:
    """Returns how many were published when all of them are answered."""
    start = time.monotonic()
    keys = [f"bench/{topic}" for topic in range(plan.topics)]
    padding = bytes(plan.size - HEAD.size)
    step = STEP if plan.rate is None else 10
    with _progress(name, plan) as progress:
        for number in range(plan.count):
            if plan.rate is not None:
                time.sleep(max(0.0, start + number / plan.rate - time.monotonic()))
            if number % step == 0:
                progress.update(progress.task_ids[0], completed=number)
                if time.monotonic() > start + plan.seconds:
                    break
            _post(m, keys[number % plan.topics], run, number, padding)
        else:
            number = plan.count
        m.flush()
    return number


def _post(m: sync.Client, key: str, run: int, number: int, padding: bytes) -> None:
    while True:
        try:
            m.post(key, HEAD.pack(run, number, time.monotonic_ns()) + padding)
            return
        except WouldBlock:
            m.room()


def _progress(name: str, plan: Plan) -> Progress:
    console = Console(stderr=True)
    progress = Progress(
        TextColumn(name), BarColumn(), MofNCompleteColumn(), console=console, transient=True,
        disable=not console.is_terminal,
    )  # fmt: skip
    progress.add_task(name, total=plan.count)
    return progress


def summary(tally: Tally, published: int, took: float) -> Result:
    """`took`: seconds until all were answered."""
    latencies = sorted(tally.latencies) or [0]
    received = (tally.last - tally.first) / 1e9
    return Result(
        published=published,
        publish_rate=published / took,
        receive_rate=tally.arrived / received if received else 0.0,
        lost=published - tally.arrived,
        doubled=tally.doubled,
        disordered=tally.disordered,
        p50=latencies[len(latencies) // 2] / 1e9,
        p99=latencies[int(len(latencies) * 0.99)] / 1e9,
        worst=latencies[-1] / 1e9,
    )


def _told(name: str, plan: Plan, result: Result) -> list[str]:
    rate = "as fast as they are taken" if plan.rate is None else f"{plan.rate:g} a second, one at a time"
    what = f"{count(result.published, 'message')} of {plan.size} B over {count(plan.topics, 'topic')}"
    return [
        f"{name}: {what}, {rate}",
        f"  published {result.publish_rate:>9,.0f}/s",
        f"  received  {result.receive_rate:>9,.0f}/s   lost {result.lost:,}   doubled {result.doubled:,}   "
        f"disordered {result.disordered:,}",
        f"  latency   p50 {plainly(result.p50)}   p99 {plainly(result.p99)}   worst {plainly(result.worst)}",
    ]
