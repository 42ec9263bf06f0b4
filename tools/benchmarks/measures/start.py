"""The time and the memory of a node's start when its store has many envelopes."""

import asyncio
import json
import signal
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

import mesh
from mesh.operations import Append, Op, Put
from mesh.store.base import begin
from mesh.store.sqlite import SQLiteStore
from mesh.streams.origin import OriginStream
from mesh.values import Hop
from mesh.wire.envelope import PERSISTENT, Envelope
from tools.benchmarks.loads.load import Load
from tools.benchmarks.loads.runs import LIMIT
from tools.benchmarks.pages.report import Report, Row
from tools.running.nodes import ANYWHERE, READY, Node
from tools.running.processes import Processes

SIZE = 100  # bytes of each
BATCH = 10_000  # in one commit
LIMITS = f"[limits]\nbacklog_bytes = {40 * 1024**3}\nlinger = 3600\n"
ROWS = ("start, fewer", "start"), ("start, fewer, peak", "start, peak")  # s and MB


@dataclass(frozen=True, slots=True)
class Started:
    """The figures of a start.

    `ready` is the time in s from the start of the process. `cpu` and `peak` are the CPU time in s and the
    memory in MB until then.
    """

    envelopes: int
    ready: float
    cpu: float
    peak: float
    pending: int  # messages that wait then


def sizes(messages: int) -> tuple[int, int]:
    """Return two numbers of envelopes, the second about ten times the first."""
    return messages // 2, 5 * messages


def measured(messages: int, advance: Callable[[], None]) -> Report:
    """Measure a start with few single messages that wait for a subscriber, and one with ten times as many."""
    found = []
    for size in sizes(messages):
        with Processes() as processes:
            found.append(_started(processes, size))
        advance()
    return told(found)


STEPS = 2


def _started(processes: Processes, size: int) -> Started:
    config = processes.place / "mesh.toml"
    config.write_text(LIMITS)
    node = Node(processes, "heron", *ANYWHERE, "--config", str(config))
    node.start()
    data = Path(json.loads(node.program.out.read_text().partition("\n")[0])["data"])
    key = _subscribed(processes, node)
    node.kill()
    fill(processes.place / data / "store.sqlite", key, size)
    began = time.monotonic()
    node.launch()
    processes.until(node.is_ready, LIMIT + size / 10_000, "the node was not ready")
    ready = time.monotonic() - began
    times, peak = psutil.Process(node.program.pid).cpu_times(), _peak(node.program.pid)
    return Started(size, ready, times.user + times.system, peak, asyncio.run(_pending(processes, node)))


def _subscribed(processes: Processes, node: Node) -> str:
    """Make a subscription, kill its client, and return the key of the subscription."""
    load = Load("start", "start", 1, persistent=True)
    subscriber = processes.start("subscriber", "tools.benchmarks.loads.subscriber", node.name, load.packed())
    ready = processes.place / load.ready
    processes.until(lambda: ready.exists() or subscriber.ended(), READY, "the subscriber did not get ready")
    processes.end([subscriber], signal.SIGKILL)
    asyncio.run(_written(processes, node))
    return load.keys[0]


def fill(path: Path, key: str, size: int) -> None:
    """Write `size` messages into the store of a stopped node, as if a publisher had sent them one by one."""
    store = SQLiteStore(path)
    place, stream, origin = begin(store, boot=1).next_position, b"start".ljust(16), OriginStream()
    for start in range(1, size + 1, BATCH):
        numbers = range(start, min(start + BATCH, size + 1))
        ops: list[Op] = []
        for position, number in enumerate(numbers, place):
            e = _envelope(stream, key, number)
            ops.append(Append(position, e.header(), e.body))
        place += len(numbers)
        origin.accept_numbers(numbers[0], numbers[-1], numbers[0])
        store.commit([*ops, Put("stream", stream, origin.pack())])
    store.checkpoint()
    store.close()


def _envelope(stream: bytes, key: str, number: int) -> Envelope:
    now = time.time_ns()
    return Envelope(
        stream=stream,
        domain="",
        first=number,
        last=number,
        keys=(key,),
        count=1,
        sizes=SIZE,
        body=number.to_bytes(8) + bytes(SIZE - 8),
        flags=PERSISTENT,
        low=number,
        sender="/node/heron/client/publisher/session/1",
        sent=now,
        route=(Hop("heron", 0, now),),
    )


def _peak(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e6


def _client(processes: Processes, node: Node) -> mesh.Client:
    return mesh.connect(node.name, environ={"MESH_STATE_DIR": str(processes.place)}, timeout=LIMIT)


async def _written(processes: Processes, node: Node) -> None:
    """Wait until the node's state is on disk, by publishing a persistent message."""
    async with _client(processes, node) as m:
        await m.publish("written", b"yes", persistent=True)


async def _pending(processes: Processes, node: Node) -> int:
    async with _client(processes, node) as m:
        return int((await m.call("info"))["metrics"]["pending"])


def told(found: list[Started]) -> Report:
    rows = []
    for name, peak, it in zip(*ROWS, found, strict=True):
        flaw = "" if it.pending == it.envelopes else f"{it.pending:,} of {it.envelopes:,} messages wait"
        note = f"{it.envelopes:,} envelopes of {SIZE} B"
        rows += [Row(name, it.ready, f"{note}; {it.cpu:.1f} s of CPU", flaw), Row(peak, it.peak, note, flaw)]
    return Report("start", rows, {"starts": [asdict(it) for it in found]})
