"""`tools/bench mesh get`: measures how fast retained values are read, and which nodes answer."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from threading import Lock
from typing import Any

import click
from rich.progress import Progress

from mesh import sync
from mesh.cli import options
from mesh.cli.options import count, plainly, print_data, print_message, tell_json
from tools.benchmarks.mesh.load import count_option, number_option, progress, seconds_option
from tools.benchmarks.mesh.tally import percentiles

KEY = "bench/get"


@dataclass(frozen=True, slots=True)
class Gets:
    """The figures of a run: `rate` in gets a second, latencies in seconds, `sources` as counts by node."""

    gets: int
    empty: int
    rate: float
    p50: float
    p99: float
    worst: float
    sources: dict[str, int]


@click.command("get", short_help="Read a retained value repeatedly.")
@click.argument("key", metavar="[KEY|PATTERN]", required=False)
@options.read_domain
@click.option("--fresh", is_flag=True, help="Ask the master even if a nearer node has the value.")
@count_option(1000, "Read N times.")
@number_option("parallel", 1, 64, "Send N requests at a time.")
@seconds_option("Stop after SECONDS.")
@options.as_json
@options.url
def get(
    key: str | None,
    domain: str | None,
    fresh: bool,
    number: int,
    parallel: int,
    seconds: float,
    as_json: bool,
    url: str | None,
) -> int:
    """Read the retained value of a topic repeatedly, as `mesh get` does.

    Without KEY, the command first publishes a value under bench/get. The result lists how many values each
    node supplied. Exit code 1: a request found no value.
    """
    with sync.connect(url) as m:
        options.tell_of_connection(m)
        if key is None:
            m.publish(KEY, b"value", domain=domain)
        query = {**options.query(key or KEY), "domain": domain, "fresh": fresh}
        result = GetRun(m, query, number, seconds).measured(parallel)
    if as_json:
        tell_json(asdict(result))
    else:
        print_data(_told(result))
    if result.empty:
        print_message(
            f"mesh: {result.empty:,} of {count(result.gets, 'get')} found nothing (see `mesh get`)."
        )
    return 1 if result.empty else 0


class GetRun:
    """A run of at most `number` equal requests within `seconds`."""

    def __init__(self, m: sync.Client, query: dict[str, Any], number: int, seconds: float) -> None:
        self._m, self._query = m, query
        self._number = self._left = number
        self._start = time.monotonic()
        self._end = self._start + seconds
        self._lock = Lock()
        self._latencies: list[float] = []
        self._sources: Counter[str] = Counter()
        self._empty = 0

    def measured(self, parallel: int) -> Gets:
        """Send requests from `parallel` threads until the run is over, and return the figures."""
        with progress("get", self._number) as bar, ThreadPoolExecutor(parallel) as workers:
            try:
                for work in [workers.submit(self._get_repeatedly, bar) for _ in range(parallel)]:
                    work.result()
            finally:
                self._left = 0  # stops the other threads after an error
        rate = len(self._latencies) / (time.monotonic() - self._start)
        worst = percentiles(self._latencies)
        return Gets(len(self._latencies), self._empty, rate, *worst, dict(self._sources))

    def _get_repeatedly(self, bar: Progress) -> None:
        while self._is_wanted():
            asked = time.monotonic()
            found = self._m.get(**self._query)
            took = time.monotonic() - asked
            with self._lock:
                self._latencies.append(took)
                self._empty += not found
                self._sources.update(message.source for message in found)
            bar.advance(bar.task_ids[0])

    def _is_wanted(self) -> bool:
        with self._lock:
            self._left -= 1
            return self._left >= 0 and time.monotonic() < self._end


def _told(result: Gets) -> list[str]:
    found = ", ".join(f"{node or 'here'} {n:,}" for node, n in sorted(result.sources.items()))
    return [
        f"get: {count(result.gets, 'get')}, {result.rate:,.0f}/s",
        f"  latency   p50 {plainly(result.p50)}   p99 {plainly(result.p99)}   worst {plainly(result.worst)}",
        f"  values    {found or 'none'}",
    ]
