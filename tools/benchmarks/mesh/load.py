"""The load of a benchmark: plan, publisher and progress bar."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from mesh import sync
from mesh.cli import options
from mesh.errors import MeshTimeout, WouldBlock
from tools.benchmarks.mesh.tally import BEGIN, HEAD, LOOK, OVER, PATIENCE

STEP, TIMED_STEP = 1000, 10  # messages between two checks of clock and progress
BENCH = "bench/#"

Option = Callable[[Callable[..., Any]], Callable[..., Any]]


def number_option(name: str, default: int, most: int, what: str, *, argument: str | None = None) -> Option:
    """Return the option `name` for a number from 1 to `most`, with the help `what`."""
    return click.option(
        f"--{name}",
        argument or name,
        type=click.IntRange(1, most),
        default=default,
        show_default=True,
        metavar="N",
        help=what,
    )


def count_option(default: int, what: str) -> Option:
    """Return the option --count, which is passed as the argument `number`."""
    return number_option("count", default, 1_000_000, what, argument="number")


def size_option(least: int, of: str) -> Option:
    """Return the option --size of each message or request, from `least` bytes to 1 MiB."""
    return click.option(
        "--size",
        type=click.IntRange(least, 1 << 20),
        default=100,
        show_default=True,
        metavar="BYTES",
        help=f"Size of each {of} in bytes.",
    )


def seconds_option(what: str) -> Option:
    """Return the option --seconds, the time limit of a run or of each of its parts."""
    return click.option(
        "--seconds",
        type=options.FiniteNumber(1, 3600),
        default=30,
        show_default=True,
        metavar="SECONDS",
        help=what,
    )


count = count_option(100_000, "Publish N messages.")
size = size_option(HEAD.size, "message")
topics = number_option("topics", 1, 10_000, "Publish under N topics in turn.")
seconds = seconds_option("Stop each measurement after SECONDS.")


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a run.

    `rate` is in messages a second; `None` means as fast as the node accepts. The run stops after `seconds`.
    `qos` has the keyword arguments of each `post`.
    """

    count: int
    size: int
    topics: int
    seconds: float
    rate: float | None = None
    qos: dict[str, Any] = field(default_factory=dict)

    @property
    def pace(self) -> str:
        if self.rate is None:
            return "as fast as they are accepted"
        return f"{self.rate:g} a second, one at a time"

    def describe(self, published: int) -> str:
        """Return a description of the `published` messages."""
        messages = options.count(published, "message")
        return f"{messages} of {self.size} B over {options.count(self.topics, 'topic')}, {self.pace}"


class Speed(ProgressColumn):
    """A progress column with the recent rate in messages a second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:,.0f}/s" if task.speed else "")


def progress(name: str, total: int | None) -> Progress:
    """Return a progress bar on stderr, disabled if stderr is not a terminal."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn(name),
        BarColumn(),
        MofNCompleteColumn(),
        Speed(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    bar.add_task(name, total=total)
    return bar


def new_run() -> int:
    """Return a random number that distinguishes this run from concurrent ones."""
    return random.getrandbits(64)


def until_heard(m: sync.Client, subscription: sync.Subscription) -> None:
    """Publish until `subscription` receives a message, or for 30 s.

    Over a bad link the publisher's node may learn of a subscription late.
    """
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        _post(m, "bench/0", new_run(), 0, b"", {})
        try:
            subscription.next_batch(timeout=LOOK)
        except MeshTimeout:
            continue
        return


def publish(m: sync.Client, plan: Plan, run: int, name: str) -> int:
    """Publish the messages of `plan` and return their number when all are answered."""
    start = time.monotonic()
    keys = [f"bench/{topic}" for topic in range(plan.topics)]
    padding = bytes(plan.size - HEAD.size)
    step = STEP if plan.rate is None else TIMED_STEP
    with progress(name, plan.count) as bar:
        for number in range(plan.count):
            if plan.rate is not None:
                time.sleep(max(0.0, start + number / plan.rate - time.monotonic()))
            if number % step == 0:
                bar.update(bar.task_ids[0], completed=number)
                if time.monotonic() > start + plan.seconds:
                    break
            _post(m, keys[number % plan.topics], run, number, padding, plan.qos)
        else:
            number = plan.count
        m.flush()
    return number


def publish_for_others(m: sync.Client, plan: Plan, name: str) -> tuple[int, int]:
    """Publish the messages between a start mark and an end mark.

    Return the number of messages, and of receivers of the end mark.
    """
    run = new_run()
    _post(m, "bench/0", run, BEGIN + plan.count, b"", plan.qos)
    published = publish(m, plan, run, name)
    last = _post(m, "bench/0", run, OVER + published, b"", plan.qos)
    return published, last.result().matched


def _post(
    m: sync.Client, key: str, run: int, number: int, padding: bytes, qos: dict[str, Any]
) -> sync.Receipt:
    while True:
        try:
            return m.post(key, HEAD.pack(run, number, time.monotonic_ns()) + padding, **qos)
        except WouldBlock:
            m.room()
