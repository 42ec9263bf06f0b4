"""The rate of persistent messages that are answered from disk, beside the rate of the disk itself."""

import os
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from tools.benchmarks.loads.figures import median
from tools.benchmarks.loads.load import Load
from tools.benchmarks.loads.runs import Run, run
from tools.benchmarks.pages.report import Report, Row
from tools.running.nodes import start_nodes
from tools.running.processes import Processes

BLOCK = b"." * 4096
PROBE = 0.5  # s of raw fsyncs


def raw_fsyncs(folder: Path, seconds: float = PROBE) -> float:
    """Return how often per second 4 KiB can be appended to a file in `folder`, each time with an fsync."""
    path = folder / "fsync"
    with path.open("wb", buffering=0) as file:
        start, count = time.monotonic(), 0
        while time.monotonic() - start < seconds:
            file.write(BLOCK)
            os.fsync(file.fileno())
            count += 1
        taken = time.monotonic() - start
    path.unlink()
    return count / taken


def loads(turn: int, messages: int) -> list[Load]:
    root = f"durable/{turn}"
    return [
        Load("durable", f"{root}/window", messages, persistent=True),
        Load("durable, alone", f"{root}/alone", max(1, messages // 100), persistent=True, alone=True),
    ]


def measured(rounds: int, messages: int, advance: Callable[[], None]) -> Report:
    """Run the rounds, with a subscriber at another node.

    A round has `messages` messages that are limited by the window, and a 100th of them one at a time.
    """
    runs: list[Run] = []
    fsyncs: list[float] = []
    with Processes() as processes:
        at, to = start_nodes(processes, "heron", "stork")
        for turn in range(rounds):
            for load in loads(turn, messages):
                fsyncs.append(raw_fsyncs(processes.place))
                runs.append(run(processes, at, to, load))
                advance()
    rows = [_row(name, [r for r in runs if r.load.name == name]) for name in ("durable", "durable, alone")]
    raw = median(fsyncs)
    rows += [Row("fsyncs", raw), Row("durable by fsync", rows[1].measured / raw)]
    return Report("durable", rows, {"runs": [asdict(r) for r in runs], "fsyncs": fsyncs})


def _row(name: str, runs: list[Run]) -> Row:
    flaws = [str(r.count) for r in runs if not r.count.is_clean]
    rates = [r.acked_rate for r in runs]
    return Row(name, median(rates), f"{min(rates):,.0f} to {max(rates):,.0f}", "; ".join(flaws))
