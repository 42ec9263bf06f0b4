"""The producers and consumers, and the servers that they need."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path

from tools.benchmarks.peers.servers import BIN, PYTHON, Server
from tools.benchmarks.peers.who import named
from tools.benchmarks.queues import brokers
from tools.benchmarks.queues.jobs import Jobs
from tools.running.processes import Processes

MODULES = "tools.benchmarks.queues"


@dataclass(frozen=True, slots=True)
class Worker:
    """A kind of producer and consumer.

    Without the files `needs`, it is not installed. `module` is that of a Python client, or empty for a
    program in C. `suffix` is the end of the address that its programs receive.
    """

    name: str
    broker: str
    module: str
    note: str
    needs: tuple[Path, ...] = ()
    put: str = "put"
    take: str = "take"
    suffix: str = ""
    slow: int = 1  # divisor for the number of jobs

    @property
    def is_ours(self) -> bool:
        return not self.needs

    @property
    def is_installed(self) -> bool:
        return all(path.exists() for path in self.needs)

    def command(self, role: str, at: Server, jobs: Jobs) -> list[str]:
        """Return the command of a program, whose `role` is put or take."""
        how = self.put if role == "put" else self.take
        nodes = at.outward.split() if role == "take" else [at.inward]
        address = nodes[jobs.part % len(nodes)] + self.suffix
        if not self.module:
            name, *numbers = astuple(jobs)
            return [str(self.needs[0]), how, address, name, *map(str, numbers)]
        program = sys.executable if self.is_ours else str(PYTHON)
        return [program, "-m", f"{MODULES}.{self.module}", how, address, jobs.packed()]


BROKERS: dict[str, Callable[[Processes], Server]] = {
    "node": brokers.node,
    "nats": brokers.nats,
    "nats-fsync": brokers.nats_fsync,
    "redis": brokers.redis,
    "rabbit": brokers.rabbit,
}
_NATS, _REDIS, _RABBIT = (BIN / f"{name}-server" for name in ("nats", "redis", "rabbitmq"))
_FSYNC = "async, sync_interval: always; push, plain acks"
_PIKA = "pika, confirms, acks of many"
WORKERS = {
    worker.name: worker
    for worker in (
        Worker("heronry", "node", "ours_queue", "post; batches, each acked"),
        Worker("heronry, many", "node", "ours_queue", "put_many; batches, each acked", put="put-many"),
        Worker("heronry, each", "node", "ours_queue", "post; each job in a task", take="take-each"),
        Worker(
            "jetstream-c",
            "nats",
            "",
            "async, file, acked before fsync; push, plain acks",
            (BIN / "jetstream-c", _NATS),
        ),
        Worker(
            "jetstream-c-fsync", "nats-fsync", "", _FSYNC, (BIN / "jetstream-c", brokers.NEWER_NATS), slow=10
        ),
        Worker("jetstream-py", "nats", "nats_queue", "likewise with nats-py", (PYTHON, _NATS), slow=4),
        Worker(
            "rabbitmq-quorum", "rabbit", "rabbit_queue", _PIKA, (PYTHON, _RABBIT), suffix="/quorum", slow=2
        ),
        Worker(
            "rabbitmq-classic", "rabbit", "rabbit_queue", _PIKA, (PYTHON, _RABBIT), suffix="/classic", slow=2
        ),
        Worker("redis-py", "redis", "redis_queue", "streams, pipelines, fsync always", (PYTHON, _REDIS)),
    )
}


def chosen_workers(text: str) -> list[str]:
    """Return the names of ours, and the comma-separated names, or all if `text` has none.

    Raises: ArgumentTypeError, for an unknown one.
    """
    names = named(text, "peer with queues", [name for name, who in WORKERS.items() if not who.is_ours])
    return [name for name, who in WORKERS.items() if not names or who.is_ours or name in names]


def installed(names: list[str]) -> Iterator[str]:
    return (name for name in names if WORKERS[name].is_installed)
