"""Shared code of the Python producers and consumers: the jobs, and the figures as JSON.

python -m tools.benchmarks.queues.CLIENT put|take ADDRESS JOBS

JOBS: see `Jobs`. A consumer runs until SIGTERM, and shows its progress in a file.
"""

import asyncio
import json
import mmap
import signal
import struct
import sys
import time
from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

Figures = dict[str, float]
NUMBER = 8  # bytes of the number that begins each job
COUNT = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class Jobs:
    """The jobs of one queue.

    `window` limits the unanswered jobs of a producer, and the outstanding ones of a consumer.
    """

    name: str  # of the queue, and of the files
    messages: int  # of all producers together
    size: int = 100  # bytes of each
    window: int = 1
    producers: int = 1
    consumers: int = 1
    part: int = 0  # number of this producer or consumer

    def packed(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def unpacked(cls, text: str) -> "Jobs":
        return cls(**json.loads(text))

    def file(self, kind: str) -> Path:
        return Path(f"{self.name}-{self.part}.{kind}")

    def contents(self) -> list[bytes]:
        """Return the jobs of this producer."""
        numbers = range(self.part, self.messages, self.producers)
        return [number.to_bytes(NUMBER, "little").ljust(self.size, b".") for number in numbers]


class Putting:
    """The clock of a producer, whose jobs are made before the measurement."""

    def __init__(self, jobs: Jobs) -> None:
        self.contents = jobs.contents()
        self._used, self._began = time.process_time(), time.monotonic()

    def told(self) -> Figures:
        """Return the start and this moment as that of the last answer (monotonic s), and CPU time (s)."""
        return {"began": self._began, "answered": time.monotonic(), "cpu": time.process_time() - self._used}


class Taken:
    """The jobs that a consumer received, and when."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._numbers, self._again = bytearray(), bytearray()
        self._first = self._last = 0.0
        self._acked = 0
        with jobs.file("count").open("w+b") as file:
            file.truncate(COUNT.size)
            self._shown = mmap.mmap(file.fileno(), COUNT.size)
        self._used = time.process_time()

    def ready(self) -> None:
        self._jobs.file("ready").touch()

    def take(self, contents: Sequence[bytes], again: Collection[int] = ()) -> None:
        """Record jobs that arrived together.

        `again` has the indices of redelivered ones.
        """
        self._first = self._first or time.monotonic()
        self._numbers += b"".join([content[:NUMBER] for content in contents])
        for place in again:
            self._again += contents[place][:NUMBER]

    def acked(self, count: int) -> None:
        """Record `count` acked jobs, and show the number of all in the file `count`."""
        self._acked += count
        self._last = time.monotonic()
        COUNT.pack_into(self._shown, 0, self._acked)

    def told(self) -> Figures:
        self._jobs.file("numbers").write_bytes(self._numbers)
        self._jobs.file("again").write_bytes(self._again)
        cpu = time.process_time() - self._used
        return {"first": self._first, "last": self._last, "cpu": cpu}


def until_ended() -> asyncio.Event:
    """Return an event that is set by SIGTERM."""
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    return over


Client = Callable[[str, Jobs], Coroutine[Any, Any, Figures] | Figures]


def run(put: Client, take: Client) -> None:
    """Put or take, as the arguments of the program say, and print the figures as JSON."""
    role, address, packed = sys.argv[1:]
    found = (put if role == "put" else take)(address, Jobs.unpacked(packed))
    print(json.dumps(asyncio.run(found) if asyncio.iscoroutine(found) else found))
