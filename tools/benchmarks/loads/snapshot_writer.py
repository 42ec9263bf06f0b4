"""Writes snapshots as a node in a mesh of a hundred does, to measure the cost.

python -m tools.benchmarks.loads.snapshot_writer DIR SECONDS PACE

PACE is the factor by which the program is faster than such a node; 0 writes nothing. Prints as JSON the CPU
time (s) of this process and the duration (s) until the log is closed, the number of lines, and the log's
messages and counters.
"""

import json
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mesh.local.segments import SegmentLog
from mesh.snapshots.line import BALANCE, LINK, QUEUE, STATE, TOPIC, HistoryLine
from mesh.snapshots.moment import iso

NODES = 100
TICK, FIGURES = 2.0, 10.0  # s between states, and between figures
STATES, LINKS, QUEUES, BALANCES, TOPICS = 3, 64, 32, NODES, 64  # lines at a time
UUID = bytes(range(16))
LIMIT = 256 * 1024 * 1024  # bytes; the default of a node
PATIENCE = 10.0  # s for the last segment


class Node:
    """A source of lines like those of a node, each different; `lines` is their number so far."""

    def __init__(self) -> None:
        self.lines = 0

    def states(self) -> Iterator[HistoryLine]:
        for i in range(STATES):
            yield self._line(
                STATE, i, version=self.lines, wall=iso(time.time_ns()), up=round(time.monotonic(), 3),
                software="0.1.0", cores=8, cpu=round(42.123456, 3), ram_free=4_000_000_000 + i,
                ram_total=8_000_000_000, load=round(0.421234, 4), lag=round(0.00123456, 6),
                published=round(1234.5678, 3), delivered=round(2345.6789, 3), pending=i, tailback=0, stored=i,
                sessions=4, subscriptions=8, links=NODES - 1,
            )  # fmt: skip

    def figures(self) -> Iterator[HistoryLine]:
        for i in range(LINKS):
            yield self._line(LINK, i, state="logged in", rtt=round(0.00045678, 6), skew=round(0.0123456, 3))
        for i in range(BALANCES):
            yield self._line(
                BALANCE,
                i,
                strategy="LeastLoaded",
                weight=1.0,
                chosen=self.lines,
                sent=self.lines // 3,
                asked=self.lines // 2,
                answered=self.lines // 2,
                seconds=round(self.lines / 777, 6),
            )
        for i in range(QUEUES):
            name = f"session//node/heron/client/joe-{i}/session/1"
            yield self._line(QUEUE, 0, queue=name, depth=i, bytes=100 * i, oldest=round(i / 7, 3))
        for i in range(TOPICS):
            yield self._line(
                TOPIC,
                0,
                topic=f"plant/hall/{i}",
                domain="MACHINES",
                messages=self.lines,
                content=99 * self.lines,
            )

    def _line(self, kind: str, about: int, **fields: Any) -> HistoryLine:
        self.lines += 1
        return HistoryLine(
            kind=kind,
            cluster="lab",
            observer="heron",
            observer_uuid=UUID.hex(),
            observer_boot=7,
            line=self.lines,
            ts=iso(time.time_ns()),
            node=f"node-{about}",
            uuid=UUID.hex(),
            boot=3,
            age=round(0.512345, 3),
            **fields,
        )


def main(place: str, seconds: float, pace: float) -> dict[str, Any]:
    told: list[str] = []
    log = SegmentLog(
        Path(place), "heron", UUID, 7, LIMIT, lambda level, text: told.append(f"{level}: {text}")
    )
    node = Node()
    before, start = _cpu(), time.monotonic()
    tick, figures = TICK / (pace or 1), FIGURES / (pace or 1)
    states_due, figures_due = 0.0, figures
    while (now := time.monotonic() - start) < seconds:
        if now >= states_due:
            states_due += tick
            _record(log, node.states() if pace else ())
        if now >= figures_due:
            figures_due += figures
            _record(log, node.figures() if pace else ())
        time.sleep(max(0.0, min(states_due, figures_due, seconds) - (time.monotonic() - start)))
    log.close(PATIENCE)
    taken = time.monotonic() - start
    return {"cpu": _cpu() - before, "seconds": taken, "lines": node.lines, "told": told, **log.counters()}


def _record(log: SegmentLog, lines: Iterator[HistoryLine] | tuple[()]) -> None:
    for line in lines:
        log.record(line)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]))))
