"""The cost of a deep queue: memory, start time, and the rates of puts and deliveries."""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil

import mesh
from mesh.operations import Append, Op
from mesh.store.base import begin
from mesh.store.sqlite import SQLiteStore
from mesh.values import Hop
from mesh.wire.envelope import PERSISTENT, Envelope
from tools.benchmarks.loads.figures import median
from tools.benchmarks.loads.runs import LIMIT, said, wait_for
from tools.benchmarks.pages.report import Report, Row
from tools.benchmarks.queues.jobs import COUNT, NUMBER, Jobs
from tools.running.nodes import ANYWHERE, Node
from tools.running.processes import Processes

QUEUE = "depth"
SIZE = 100  # bytes of each
BATCH = 10_000  # in one commit
SHARE, LEAST = 50, 1_000  # of all jobs: those of each round
WINDOW = 256
MOST = 1 << 40  # bytes that the queue may have
LIMITS = f"[limits]\nbacklog_bytes = {40 * 1024**3}\n"
MODULE = "tools.benchmarks.queues.ours_queue"
NODES = ("heron", "stork")  # few jobs at the first, many after it


@dataclass(slots=True)
class Deep:
    """A node whose queue has `jobs` jobs, each in its own envelope.

    Memory is in MB, and rates are per second.
    """

    jobs: int
    ready: float = 0.0  # s from the start of the process,
    cpu: float = 0.0  # and s of CPU until then
    waiting: int = 0  # as reported by its node
    memory: float = 0.0  # of its process after the start,
    peak: float = 0.0  # and its peak
    put: list[float] = field(default_factory=list)
    take: list[float] = field(default_factory=list)
    left: int = 0  # as reported by its node in the end
    expected: int = 0


def measured(jobs: int, rounds: int, advance: Callable[[], None]) -> Report:
    """Fill one node with few jobs and another with at least `jobs`, and measure both in turns.

    The few jobs are as many as all rounds need.
    """
    each = max(LEAST, min(jobs // SHARE, 20_000))
    deeps = [Deep((rounds + 1) * each), Deep(max(jobs, (rounds + 1) * each))]
    with Processes() as processes:
        config = processes.place / "mesh.toml"
        config.write_text(LIMITS)
        nodes = [Node(processes, name, *ANYWHERE, "--config", str(config)) for name in NODES]
        for node, deep in zip(nodes, deeps, strict=True):
            _fill_and_start(processes, node, deep)
            advance()
        for turn in range(rounds):
            for node, deep in zip(nodes, deeps, strict=True):
                _put(processes, node, deep, each, turn)
                _take(processes, node, deep, each, turn)
                advance()
        for node, deep in zip(nodes, deeps, strict=True):
            deep.peak = _status(node, "VmHWM")
            deep.left = asyncio.run(_waiting(processes, node))
    return told(deeps)


def steps(rounds: int) -> int:
    return len(NODES) * (1 + rounds)


def _fill_and_start(processes: Processes, node: Node, deep: Deep) -> None:
    node.start()
    data = Path(json.loads(node.program.out.read_text().partition("\n")[0])["data"])
    asyncio.run(_declare(processes, node))
    node.kill()
    fill(processes.place / data / "store.sqlite", node.name, deep.jobs)
    began = time.monotonic()
    node.launch()
    processes.until(node.is_ready, LIMIT + deep.jobs / 10_000, "the node was not ready")
    deep.ready = time.monotonic() - began
    times = psutil.Process(node.program.pid).cpu_times()
    deep.cpu = times.user + times.system
    deep.waiting = asyncio.run(_waiting(processes, node))
    deep.memory = _status(node, "VmRSS")
    deep.expected = deep.jobs


def fill(path: Path, node: str, jobs: int) -> None:
    """Write `jobs` jobs into the store of a stopped node, as if a producer had put them one by one."""
    store = SQLiteStore(path)
    place, to = begin(store, boot=1).next_position, f"queue/{QUEUE}"
    for start in range(1, jobs + 1, BATCH):
        numbers = range(start, min(start + BATCH, jobs + 1))
        ops: list[Op] = []
        for position, number in enumerate(numbers, place):
            now = time.time_ns()
            e = Envelope(
                stream=b"depth".ljust(16),
                domain=to,
                first=number,
                last=number,
                keys=("",),
                count=1,
                sizes=SIZE,
                body=number.to_bytes(NUMBER, "little").ljust(SIZE, b"."),
                flags=PERSISTENT,
                low=number,
                sender=f"/node/{node}/client/producer/session/1",
                sent=now,
                route=(Hop(node, 0, now),),
                to=to,
            )
            ops.append(Append(position, e.header(), e.body))
        place += len(numbers)
        store.commit(ops)
    store.checkpoint()
    store.close()


def _put(processes: Processes, node: Node, deep: Deep, jobs: int, turn: int) -> None:
    packed = Jobs(QUEUE, jobs, SIZE, WINDOW).packed()
    producer = processes.start(f"put-{turn}", MODULE, "put-lone", node.name, packed)
    wait_for(processes, producer)
    figures = said(producer)
    deep.put.append(jobs / (figures["answered"] - figures["began"]))
    deep.expected += jobs


def _take(processes: Processes, node: Node, deep: Deep, jobs: int, turn: int) -> None:
    """Consume at least `jobs` jobs, and count all that came."""
    wanted = Jobs(QUEUE, jobs, SIZE, WINDOW)
    count = processes.place / wanted.file("count")
    count.unlink(missing_ok=True)
    consumer = processes.start(f"take-{turn}", MODULE, "take", node.name, wanted.packed())

    def taken() -> int:
        return int(COUNT.unpack(count.read_bytes())[0]) if count.exists() and count.stat().st_size else 0

    processes.until(lambda: taken() >= jobs or consumer.ended(), LIMIT, "the consumer did not take")
    processes.end([consumer])
    figures = said(consumer)
    deep.take.append(taken() / (figures["last"] - figures["first"]))
    deep.expected -= taken()


def _status(node: Node, what: str) -> float:
    """Return a memory figure of the node's process in MB."""
    lines = Path(f"/proc/{node.program.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) * 1024 / 1e6


def _client(processes: Processes, node: Node) -> mesh.Client:
    return mesh.connect(node.name, environ={"MESH_STATE_DIR": str(processes.place)}, timeout=LIMIT)


async def _declare(processes: Processes, node: Node) -> None:
    async with _client(processes, node) as m:
        await m.queue(QUEUE).declare(max_bytes=MOST, max_count=10**9)


async def _waiting(processes: Processes, node: Node) -> int:
    """Return the number of jobs in the queue: ready, delivered and delayed."""
    async with _client(processes, node) as m:
        row = await m.queue(QUEUE).info()
    return row.ready + row.out + row.delayed


def told(deeps: Sequence[Deep]) -> Report:
    few, many = deeps
    rows = []
    for name, deep in (("few", few), ("many", many)):
        flaw = "" if deep.waiting == deep.jobs else f"{deep.waiting:,} of {deep.jobs:,} jobs wait. "
        flaw += "" if deep.left == deep.expected else f"{deep.left:,} of {deep.expected:,} jobs are left"
        note = (
            f"{deep.jobs:,} envelopes of {SIZE} B; {deep.cpu:.1f} s of CPU and {deep.memory:.0f} MB to start"
        )
        rows += [
            Row(f"depth, {name}, ready", deep.ready, note, flaw),
            Row(f"depth, {name}, peak", deep.peak, note, flaw),
            Row(f"depth, {name}, put", median(deep.put), _spread(deep.put), flaw),
            Row(f"depth, {name}, take", median(deep.take), _spread(deep.take), flaw),
        ]
    more = 1e6 * (many.ready - few.ready) / max(1, many.jobs - few.jobs)
    rows.append(Row("depth, start", max(0.0, more), "what the others cost, beside the few"))
    for what in ("put", "take"):
        found = [a / b for a, b in zip(getattr(many, what), getattr(few, what), strict=True)]
        rows.append(Row(f"depth, {what}", median(found), f"{min(found):.2f} to {max(found):.2f}"))
    return Report("depth", rows, {"nodes": [asdict(deep) for deep in deeps]})


def _spread(rates: Sequence[float]) -> str:
    return f"{min(rates):,.0f} to {max(rates):,.0f}"
