"""A node core without a process or a network, which handles input synchronously and counts CPU time."""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from random import Random
from time import process_time
from typing import Any, TypeVar

from mesh.discovery.state import Sample
from mesh.features.all import FEATURES
from mesh.kernel.context.effects import Commit, Effect, Fetch, Send
from mesh.kernel.context.settings import Settings
from mesh.kernel.node import NodeCore
from mesh.kernel.parts import Parts
from mesh.operations import FIRST_POSITION, TABLES, Image, Op, Positions, Stored, StoreReach
from mesh.store.base import Store
from mesh.wire.commands import Introduction

T = TypeVar("T")
START = 1_700_000_000_000_000_000  # ns since 1970
SECRET = b"the user's cookie"
IDLE = Sample(cpu=(90.0, 90.0), ram_free=8 << 30, ram_total=16 << 30)
QUIET = 8.0  # s; ten without a message end a connection


class Nowhere:
    """A store that keeps nothing, for experiments without persistent messages."""

    def load(self) -> Image:
        return Image([], {table: {} for table in TABLES}, FIRST_POSITION)

    def read(self, positions: Positions) -> list[Stored]:
        return []

    def commit(self, ops: Sequence[Op]) -> None:
        pass

    def close(self) -> None:
        pass

    @property
    def reach(self) -> StoreReach:
        return StoreReach(0, 0)


class Host:
    """A node core with its store.

    `spent` is the CPU time of the core, `loaded` and `written` are those of its store for loading and writing
    (s). Commits are written when `group` of them wait, before each fetch, and by `commit`.
    """

    def __init__(self, store: Store | None = None, boot: int = 1, group: int = 1, **settings: Any) -> None:
        me = Introduction(bytes(15) + b"\x01", "heron", boot, "tcp://127.0.0.1:7600")
        told = Settings(me=me, secret=SECRET, **settings)
        self.core = NodeCore(Parts(told, Random(boot).randbytes, Random(2).random, FEATURES))
        self.store = store or Nowhere()
        self.now = self.spent = self.written = 0.0
        self.group = group
        self.told: dict[Hashable, deque[list[bytes]]] = {}  # output by connection
        self._jobs: list[Commit] = []
        start = process_time()
        image = self.store.load()
        self.loaded = process_time() - start
        self._do(partial(self.core.start, image, self.now, self.wall, sample=lambda: IDLE))

    @property
    def wall(self) -> int:
        return START + int(self.now * 1e9)

    def accept(self, key: Hashable) -> deque[list[bytes]]:
        """Connect a local client, and return the queue of the messages that the node sends to it."""
        self.told[key] = deque()
        self.core.add_inbound(key, "ipc:///run/heron", True)
        return self.told[key]

    def say(self, key: Hashable, frames: list[bytes]) -> None:
        self._do(partial(self.core.receive, key, frames, self.now, self.wall))

    def leave(self, key: Hashable) -> None:
        self._do(partial(self.core.disconnected, key, self.now, self.wall))
        del self.told[key]

    def quiet(self, seconds: float = QUIET) -> float:
        """Let simulated time pass without input, and return the CPU seconds per simulated second."""
        end, before = self.now + seconds, self.spent
        while self.core.alarm <= end:
            self.now = max(self.core.alarm, self.now)
            self._do(partial(self.core.tick, self.now, self.wall))
        self.now = end
        return (self.spent - before) / seconds

    def cost(self, work: Callable[[], object]) -> float:
        """Do `work`, and return the CPU seconds that the core spends on it."""
        before = self.spent
        work()
        return self.spent - before

    def cost_of_each(self, things: Iterable[T], work: Callable[[T], object]) -> float:
        """Do `work` for each of `things`, and return the CPU seconds that the core spends on all of them."""
        before = self.spent
        for thing in things:
            work(thing)
        return self.spent - before

    def commit(self) -> None:
        """Write the gathered commits, and report those with a token to the core."""
        jobs, self._jobs = self._jobs, []
        ops: Iterable[Op] = (op for job in jobs for op in job.ops)
        start = process_time()
        self.store.commit(list(ops))
        self.written += process_time() - start
        for job in jobs:
            if job.token is not None:
                self._do(partial(self.core.stored, job.token, None, self.now, self.wall))

    def _do(self, what: Callable[[], object]) -> None:
        start = process_time()
        what()
        effects = self.core.take_effects()
        self.spent += process_time() - start
        for effect in effects:
            self._carry_out(effect)
        if len(self._jobs) >= self.group:
            self.commit()

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Send(key, frames) if key in self.told:
                self.told[key].append(frames)
            case Commit():
                self._jobs.append(effect)
            case Fetch(token, positions):
                self.commit()
                found = self.store.read(positions)
                self._do(partial(self.core.fetched, token, found, self.now, self.wall))
            case _:
                pass  # there is no other node
