"""The growth of a node at run time: memory, descriptors, threads, files and disk, with their limits."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import psutil

MIB = 1 << 20
SETTLED = 9  # samples that a judgment needs


class Measure(NamedTuple):
    """A measured figure of a node.

    In the last third of a run, the figure may exceed its maximum in the middle third by `share` of that, and
    by `more`.
    """

    name: str
    unit: int
    share: float = 0.0
    more: float = 0.0


MEASURES = (
    Measure("memory, MiB", MIB, 0.15, 24 * MIB),
    Measure("descriptors", 1, 0.0, 12),
    Measure("threads", 1, 0.0, 2),
    Measure("files but segments", 1, 0.0, 8),
    Measure("its store, MiB", MIB, 0.25, 16 * MIB),
)
SEGMENTS, LOGS = Measure("segments, MiB", MIB), Measure("logs, MiB", MIB)


@dataclass(frozen=True, slots=True)
class Growth:
    """A figure of one node over a run.

    `most` is the limit of `last`, which a growing figure exceeds. `last` is the final value, or the maximum
    of the last third.
    """

    first: float
    highest: float
    last: float
    most: float

    @property
    def grows(self) -> bool:
        return self.last > self.most


def judged(series: Sequence[float], measure: Measure) -> Growth:
    """Compare the last third of `series` with the middle one.

    Fluctuations affect both, and growth raises the last one. With fewer than SETTLED samples there is no
    limit.
    """
    third = len(series) // 3
    if len(series) < SETTLED:
        return Growth(series[0], max(series), max(series), float("inf"))
    middle, last = series[third : -third or None], series[-third:]
    most = max(middle) * (1 + measure.share) + measure.more
    return Growth(series[0], max(series), max(last), most)


def bounded(series: Sequence[float], limit: float) -> Growth:
    """Return the growth of a figure that has a fixed limit."""
    return Growth(series[0], max(series), series[-1], limit)


def looked_at(pid: int, data: Path, logs: Sequence[Path]) -> Mapping[str, float]:
    """Return all figures of a running node, by name. Raises: psutil.NoSuchProcess, for an ended one."""
    process = psutil.Process(pid)
    with process.oneshot():
        found = [process.memory_info().rss, process.num_fds(), process.num_threads()]
    segments = data / "snapshots"
    files = [each for each in data.glob("*") if each != segments]
    values = [*found, len(files), sum(map(_size, files))]
    return {
        **{measure.name: float(value) for measure, value in zip(MEASURES, values, strict=True)},
        SEGMENTS.name: float(sum(map(_size, _below(segments)))),
        LOGS.name: float(sum(map(_size, logs))),
    }


def _below(path: Path) -> Iterator[Path]:
    """Yield all files, ignoring folders that disappear meanwhile, unlike `Path.glob`."""
    return (Path(folder, name) for folder, _, names in os.walk(path) for name in names)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except FileNotFoundError:  # just deleted
        return 0
