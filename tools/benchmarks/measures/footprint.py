"""The cost of an idle node, and the time to start one."""

import subprocess
import sys
import time
from collections.abc import Callable

import psutil

from tools.benchmarks.loads.figures import median
from tools.benchmarks.pages.report import Report, Row
from tools.running.nodes import ANYWHERE, READY, Node, all_see
from tools.running.processes import Failed, Processes

SETTLING = 5.0  # s; mDNS queries are frequent at first
MEGABYTE = 1_000_000


def idle(processes: Processes, seconds: float) -> tuple[float, float]:
    """Return the resident MB, and the percent of a core over `seconds`, of an idle node.

    The node is logged in to two others, which it found by mDNS, as is the default.
    """
    nodes = [Node(processes, name, *ANYWHERE, "--mdns") for name in ("heron", "stork", "egret")]
    for each in nodes:
        each.start()
    processes.until(lambda: all_see(processes, nodes), READY, "no mesh")
    node = nodes[0]
    # A subscription makes the node log in; without one there would be less to keep alive.
    client = processes.start("client", "mesh", "sub", "idle/#", "--url", node.name)
    processes.pause(SETTLING)
    process = psutil.Process(node.program.pid)
    before = process.cpu_times()
    start = time.monotonic()
    processes.pause(seconds)
    after, taken = process.cpu_times(), time.monotonic() - start
    if client.ended():
        raise Failed(f"mesh sub ended: {client.words()}")
    used = after.user + after.system - before.user - before.system
    return process.memory_info().rss / MEGABYTE, 100 * used / taken


def time_help() -> float:
    """Return the seconds until `mesh --help` has ended."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "mesh", "--help"], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def time_ready(processes: Processes, name: str) -> float:
    """Return the seconds until a new node is ready."""
    node = Node(processes, name, *ANYWHERE)
    start = time.perf_counter()
    node.launch()
    limit = start + READY
    while not node.is_ready():
        if time.perf_counter() > limit:
            raise Failed(f"{name} was not ready within {READY:g} s.")
        time.sleep(0.005)
    taken = time.perf_counter() - start
    processes.end([node.program])
    return taken


def measured(times: int, seconds: float, advance: Callable[[], None]) -> Report:
    """Measure an idle node for `seconds`, and `times` starts of a node and of `mesh --help`."""
    with Processes() as processes:
        resident, cpu = idle(processes, seconds)
        advance()
    with Processes() as processes:
        ready = [time_ready(processes, f"node{n}") for n in range(times)]
        advance()
        helps = [time_help() for _ in range(times)]
        advance()
    rows = [
        Row("resident", resident),
        Row("cpu", cpu, f"over {seconds:g} s"),
        Row("help", 1000 * median(helps), f"{times} times"),
        Row("ready", median(ready), f"{times} times"),
    ]
    return Report("footprint", rows, {"help": helps, "ready": ready})
