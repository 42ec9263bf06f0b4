"""`tools/bench mesh req`: measures the rate and latency of requests."""

import asyncio
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass

import click
from rich.progress import Progress

import mesh
from mesh.cli import options
from mesh.cli.options import count, plainly, print_data, print_message, tell_json
from mesh.client.client import Client
from mesh.errors import MeshError
from mesh.features.services.client.service import Service
from tools.benchmarks.mesh import load as load
from tools.benchmarks.mesh.load import new_run, progress
from tools.benchmarks.mesh.tally import percentiles

PATIENCE = 10.0  # s that a request waits
STEP = 100  # requests between two updates of the bar


@dataclass(frozen=True, slots=True)
class RequestFigures:
    """The figures of a run: `rate` in replies a second, latencies in seconds, `failed` as counts by code."""

    replies: int
    parallel: int
    rate: float
    p50: float
    p99: float
    worst: float
    failed: dict[str, int]


@click.command("req", short_help="Send requests to a service repeatedly.")
@click.argument("address", required=False)
@load.count_option(10_000, "Send N requests.")
@load.size_option(0, "request")
@load.number_option("parallel", 16, 4096, "Send N requests at a time.")
@load.seconds
@click.option("--to", metavar="NODE", help="Without ADDRESS: serve at NODE. Default: the node of --url.")
@options.as_json
@options.url
def req(
    address: str | None,
    number: int,
    size: int,
    parallel: int,
    seconds: float,
    to: str | None,
    as_json: bool,
    url: str | None,
) -> int:
    """Send requests to a service repeatedly, `--parallel` at a time, and wait for each reply.

    Without ADDRESS, this process also runs a service, which replies with the content of the request. The
    figures then include the work of both sides. Exit code 1: a request had no reply.
    """
    if address and to:
        raise click.UsageError(
            "--to selects the node of the built-in service; it cannot be used with ADDRESS."
        )
    result = asyncio.run(_measured(url, to, address, bytes(size), RequestRun(number, seconds), parallel))
    if as_json:
        tell_json(asdict(result))
    else:
        print_data(_told(result, size))
    for code, number_failed in result.failed.items():
        print_message(f"mesh: {count(number_failed, 'request')} had no reply [{code}]")
    return 1 if result.failed else 0


class RequestRun:
    """A run of at most `number` equal requests within `seconds`."""

    def __init__(self, number: int, seconds: float) -> None:
        self.number, self.left, self.seconds = number, number, seconds
        self.latencies: list[float] = []
        self.failed: Counter[str] = Counter()
        self._end = 0.0

    async def measured(self, m: Client, address: str, content: bytes, parallel: int) -> RequestFigures:
        """Send requests from `parallel` tasks until the run is over, and return the figures."""
        start = time.monotonic()
        self._end = start + self.seconds
        with progress("req", self.number) as bar:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(parallel):
                    tasks.create_task(self._request_repeatedly(m, address, content, bar))
        rate = len(self.latencies) / (time.monotonic() - start)
        worst = percentiles(self.latencies)
        return RequestFigures(len(self.latencies), parallel, rate, *worst, dict(self.failed))

    async def _request_repeatedly(self, m: Client, address: str, content: bytes, bar: Progress) -> None:
        while self.left > 0 and time.monotonic() < self._end:
            self.left -= 1
            asked = time.monotonic()
            try:
                await m.request(address, content, timeout=PATIENCE)
            except MeshError as error:
                self.failed[error.code] += 1
            else:
                self.latencies.append(time.monotonic() - asked)
            self._step(bar)

    def _step(self, bar: Progress) -> None:
        done = len(self.latencies) + self.failed.total()
        if done % STEP == 0:  # an update of the bar is slow
            bar.update(bar.task_ids[0], completed=done)


async def _measured(
    url: str | None, to: str | None, address: str | None, content: bytes, run: RequestRun, parallel: int
) -> RequestFigures:
    async with AsyncExitStack() as stack:
        m = await stack.enter_async_context(mesh.connect(url))
        if address is None:
            address = f"bench/echo/{new_run():x}"
            other = await stack.enter_async_context(mesh.connect(to or url))
            service = await stack.enter_async_context(other.serve(address, prefetch=2 * parallel))
            echoing = asyncio.create_task(_echo(service))
            stack.callback(echoing.cancel)
        return await run.measured(m, address, content, parallel)


async def _echo(service: Service[object]) -> None:
    async for request in service:
        await request.reply(request.content)


def _told(result: RequestFigures, size: int) -> list[str]:
    return [
        f"req: {result.replies:,} replies to {size} B, {result.parallel} at a time, {result.rate:,.0f}/s",
        f"  latency   p50 {plainly(result.p50)}   p99 {plainly(result.p99)}   worst {plainly(result.worst)}",
    ]
