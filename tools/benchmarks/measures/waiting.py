"""The delay until a node serves again after kill -9, with many messages in its store."""

import asyncio
import json
import signal
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import psutil

import mesh
from tools.benchmarks.loads.load import Load
from tools.benchmarks.loads.runs import LIMIT, said
from tools.benchmarks.pages.report import Report, Row
from tools.running.nodes import ANYWHERE, READY, Node
from tools.running.processes import Failed, Processes

STEPS = 3
MOST = 40 * 1024**3  # bytes that may wait
LIMITS = f"[limits]\nbacklog_bytes = {MOST}\nlinger = 3600\n"


@dataclass(frozen=True, slots=True)
class Waited:
    """The figures of a restart.

    Times are in s from the start of the process, and `resident` is in MB.
    """

    messages: int
    ready: float
    serving: float  # first answer to a persistent message
    pending: int
    resident: float


def measured(messages: int, advance: Callable[[], None]) -> Report:
    with Processes() as processes:
        config = processes.place / "mesh.toml"
        config.write_text(LIMITS)
        node = Node(processes, "heron", *ANYWHERE, "--config", str(config))
        node.start()
        _fill(processes, node, messages)
        advance()
        node.kill()
        began = time.monotonic()
        node.start()
        ready = time.monotonic() - began
        asyncio.run(_publish(processes, node))
        serving = time.monotonic() - began
        advance()
        pending = int(asyncio.run(_pending(processes, node)))
        resident = psutil.Process(node.program.pid).memory_info().rss / 1e6
        advance()
    return told(Waited(messages, ready, serving, pending, resident))


def _fill(processes: Processes, node: Node, messages: int) -> None:
    """Publish messages for a subscriber that was killed before the first of them."""
    load = Load("waiting", "waiting", messages, persistent=True)
    subscriber = processes.start("subscriber", "tools.benchmarks.loads.subscriber", node.name, load.packed())
    ready = processes.place / load.ready
    processes.until(lambda: ready.exists() or subscriber.ended(), READY, "the subscriber did not get ready")
    processes.end([subscriber], signal.SIGKILL)
    publisher = processes.start("publisher", "tools.benchmarks.loads.publisher", node.name, load.packed())
    processes.until(publisher.ended, LIMIT + messages / 1000, "not all was answered")
    if publisher.code:
        raise Failed(f"the publisher failed: {publisher.words()}")
    said(publisher)


async def _publish(processes: Processes, node: Node) -> None:
    async with mesh.connect(node.name, environ={"MESH_STATE_DIR": str(processes.place)}, timeout=LIMIT) as m:
        await m.publish("serving", b"yes", persistent=True)


async def _pending(processes: Processes, node: Node) -> int:
    async with mesh.connect(node.name, environ={"MESH_STATE_DIR": str(processes.place)}) as m:
        return int((await m.call("info"))["metrics"]["pending"])


def told(w: Waited) -> Report:
    flaw = "" if w.pending >= w.messages else f"only {w.pending:,} of {w.messages:,} still wait"
    note = f"ready after {w.ready:.1f} s; {w.pending:,} messages wait, {w.resident:.0f} MB resident"
    return Report("waiting", [Row("waiting", w.serving, note, flaw)], json.loads(json.dumps(asdict(w))))
