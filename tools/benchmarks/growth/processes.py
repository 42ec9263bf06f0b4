"""The cost of many real nodes on this machine, and the time until they see a join or a death."""

import signal
import time

import psutil

from tools.running.company import Company, logs_kept
from tools.running.line import free_ports
from tools.running.nodes import ANYWHERE, Node
from tools.running.processes import Processes
from tools.running.watch import Watch

SETTLING = 5.0  # s
IDLE = 10.0  # s that are measured


def measured(size: int) -> dict[str, float]:
    """Run `size` processes of `mesh up`, which know only one of them at first, and return the figures.

    `cpu` is in CPU s per second and node, `bytes` are per node, and `meet`, `die` and `join` are in s.
    """
    with Processes() as processes, Watch(processes.place) as watch, logs_kept(processes):
        address = f"tcp://127.0.0.1:{free_ports(1)[0]}"
        ways = [("--bind", address), *[(*ANYWHERE, "--peer", address)] * (size - 1)]
        nodes = [Node(processes, f"node{i}", *way, log_level="info") for i, way in enumerate(ways)]
        company = Company(processes, watch, nodes)
        meeting = company.met(company.start())
        processes.pause(SETTLING)
        cpu, resident = _idle(processes, nodes)
        dying = company.end("node1", signal.SIGKILL, "dead")
        since = time.time()
        joined = since + company.start_again("node1")
        ready = nodes[1].program.out.stat().st_mtime  # program start is not counted
        joining = max(0.0, joined - ready)
    return {"cpu": cpu, "bytes": resident, "meet": meeting, "die": dying, "join": joining}


def _idle(processes: Processes, nodes: list[Node]) -> tuple[float, float]:
    """Return the CPU seconds per second, and the resident bytes, as means over the nodes."""
    running = [psutil.Process(node.program.pid) for node in nodes]
    before, start = [_used(process) for process in running], time.monotonic()
    processes.pause(IDLE)
    taken = time.monotonic() - start
    used = sum(_used(process) for process in running) - sum(before)
    resident = sum(process.memory_info().rss for process in running)
    return used / taken / len(nodes), resident / len(nodes)


def _used(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
