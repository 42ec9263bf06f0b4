"""The servers of repeated operations: a node, and peers that store what they answer, each on this machine."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from tools.benchmarks.peers.servers import BIN, HOST, listening, start
from tools.benchmarks.queues import brokers
from tools.lab_parts.jobs.databases import PostgresCluster, initdb
from tools.running.line import free_ports
from tools.running.nodes import ANYWHERE, Node
from tools.running.processes import Processes

STORES = """
[[queues]]
name = "from/#"
store = "sqlite:///{place}/from.db"
[[queues]]
name = "to/#"
store = "sqlite:///{place}/to.db"
"""
LAZY = """
listen: "{host}:{port}"
jetstream {{ store_dir: "{place}/lazy" }}
"""
Start = Callable[[Processes, ExitStack], str]  # returns the address; the stack ends what is no Program


def _stores(processes: Processes, _: ExitStack) -> str:
    """Start a node with a store for each of both queues beside its own."""
    path = processes.place / "stores.toml"
    path.write_text(STORES.format(place=processes.place))
    node = Node(processes, "crane", *ANYWHERE, "--config", str(path))
    node.start()
    return node.name


def _postgres(_: Processes, stack: ExitStack) -> str:
    cluster = PostgresCluster()
    stack.callback(cluster.close)
    return cluster.url("postgres")


def _lazy_nats(processes: Processes, _: ExitStack) -> str:
    """Start the NATS of `brokers.nats_fsync` as it is by default: it syncs every two minutes."""
    (port,) = free_ports(1)
    path = processes.place / "lazy.conf"
    path.write_text(LAZY.format(host=HOST, port=port, place=processes.place))
    listening(processes, "nats-lazy", [str(brokers.NEWER_NATS), "-c", str(path)], port)
    return f"nats://{HOST}:{port}"


def _redis_everysec(processes: Processes, _: ExitStack) -> str:
    return brokers.redis(processes, "everysec").inward


def _etcd(processes: Processes, _: ExitStack) -> str:
    clients, peers = (f"http://{HOST}:{port}" for port in free_ports(2))
    options = ["--data-dir", str(processes.place / "etcd"), "--log-level", "error"]
    options += ["--listen-client-urls", clients, "--advertise-client-urls", clients]
    options += ["--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers]
    options += ["--initial-cluster", f"default={peers}"]
    address = clients.removeprefix("http://")
    listening(processes, "etcd", [str(BIN / "etcd"), *options], int(address.rpartition(":")[2]))
    return address


def has_postgres() -> bool:
    return initdb() is not None


def at(*paths: Path) -> Callable[[], bool]:
    """Return a function that returns whether all files exist."""
    return lambda: all(path.exists() for path in paths)


SERVERS: dict[str, Start] = {
    "node": lambda processes, _: start(processes, "node").inward,
    "stores": _stores,
    "postgres": _postgres,
    "nats-fsync": lambda processes, _: brokers.nats_fsync(processes).inward,
    "nats-lazy": _lazy_nats,
    "rabbit": lambda processes, _: brokers.rabbit(processes).inward,
    "redis": lambda processes, _: brokers.redis(processes).inward,
    "redis-everysec": _redis_everysec,
    "etcd": _etcd,
}
