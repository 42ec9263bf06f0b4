"""Background work of a week: log rotation, and samples of the size of everything."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from tools.lab_parts.week.growth import LOGS, MEASURES, MIB, SEGMENTS, Growth, bounded, judged, looked_at
from tools.lab_parts.week.logs import all_of, rotate
from tools.lab_parts.week.nodes import data_of
from tools.running.nodes import Node
from tools.running.processes import Processes

COPIES = 3  # of a log
BESIDE = 2 * MIB  # bytes above a limit until the next rotation
Series = dict[str, list[float]]  # by figure


class Watch:
    """The rotation of logs, and samples of the nodes every `pause` s.

    A log is rotated at `log` bytes. `kept` is the limit of segments in bytes.
    """

    def __init__(
        self, processes: Processes, nodes: Sequence[Node], pause: float, log: int, kept: int
    ) -> None:
        self.rotated = 0
        self._processes, self._nodes = processes, nodes
        self._pause, self._log, self._kept = pause, log, kept
        self._next = 0.0
        self._looks: dict[str, tuple[int, Series]] = {}  # process and its samples, by node

    def look(self) -> None:
        for node in self._nodes:
            self.rotated += rotate(self.log_of(node), self._log, COPIES)
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self._pause
            for node in self._nodes:
                if node.is_up and not node.program.ended():
                    self._look_at(node)

    def log_of(self, node: Node) -> Path:
        return node.program.err

    def written(self, node: Node) -> str:
        """Return the kept part of a node's log, the oldest lines first."""
        logs = all_of(self.log_of(node), COPIES)
        return "".join(path.read_text() for path in logs if path.exists())

    def _look_at(self, node: Node) -> None:
        pid, series = self._looks.get(node.name, (0, {}))
        if pid != node.program.pid:
            series = defaultdict(list)
            self._looks[node.name] = node.program.pid, series
        try:
            found = looked_at(
                node.program.pid, data_of(self._processes, node.name), all_of(self.log_of(node), COPIES)
            )
        except psutil.NoSuchProcess:  # it has just ended
            return
        for name, value in found.items():
            series[name].append(value)

    def growth(self) -> Mapping[str, Mapping[str, Growth]]:
        """Return the growth by figure and node, for the current process of each node."""
        series = {name: found for name, (_, found) in self._looks.items()}
        limits = {SEGMENTS: self._kept + BESIDE, LOGS: (COPIES + 1) * self._log + BESIDE}
        grown = {
            measure.name: {name: judged(found[measure.name], measure) for name, found in series.items()}
            for measure in MEASURES
        }
        held = {
            measure.name: {name: bounded(found[measure.name], limit) for name, found in series.items()}
            for measure, limit in limits.items()
        }
        return {**grown, **held}
