"""The memory that a node uses for peers that never finish a message, and for garbage connections."""

import re
from collections.abc import Callable
from pathlib import Path

from tools.benchmarks.pages.report import Report, Row
from tools.running.nodes import ANYWHERE, Node
from tools.running.processes import Failed, Processes

WHO = ("stranger", "token", "patient", "pub")
STEPS = len(WHO) + 1
LONGEST = 150.0  # s that one of them may take
MEGABYTE = 1e6


def measured(mib: int, connections: int, advance: Callable[[], None]) -> Report:
    """Measure by how many MB a node grows at most, for each kind of sender; `mib` are those of a message."""
    rows = []
    for who in WHO:
        rows.append(Row(f"unfinished, {who}", grown(who, mib), f"{mib} MiB"))
        advance()
    rows.append(Row("unfinished, garbage", grown("garbage", connections), f"{connections:,} connections"))
    advance()
    return Report("unfinished", rows)


def grown(who: str, most: int) -> float:
    """Return the MB by which a node's resident memory grew at most.

    Raises Failed if the node or the sender failed.
    """
    with Processes() as processes:
        if who not in ("stranger", "garbage"):
            processes.run("keys", "mesh", "init", "--cluster", processes.cluster)
        node = Node(processes, "heron", *ANYWHERE)
        node.start()
        address = node.tcp
        if who == "pub":
            address = address.rpartition(":")[0] + f":{int(address.rpartition(':')[2]) + 1}"
        processes.pause(1.5)  # for the release of memory from the start
        before = peak(node.program.pid, "VmRSS")
        command = (who, address, str(most), processes.cluster)
        program = processes.start(who, "tools.benchmarks.loads.unfinished_sender", *command)
        processes.until(program.ended, LONGEST, f"{who} did not end")
        if program.code:
            raise Failed(f"{who}: {program.words()}")
        if node.program.ended():
            raise Failed(f"the node ended: {node.program.words()}")
        return (peak(node.program.pid, "VmHWM") - before) / MEGABYTE


def peak(pid: int, field: str) -> int:
    """Return the bytes that are (field VmRSS), or at most were (VmHWM), resident."""
    found = re.search(rf"^{field}:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.M)
    assert found is not None
    return 1024 * int(found[1])
