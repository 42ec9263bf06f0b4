"""The servers of queues: a node, and peers that store messages on disk."""

from tools.benchmarks.peers.servers import BIN, HOST, PYTHON, Server, listening, start
from tools.running.line import free_ports
from tools.running.processes import Processes

STARTS = 60.0  # s until RabbitMQ listens
NEWER_NATS = PYTHON.parent / "nats-server"
FSYNC = """
listen: "{host}:{port}"
max_pending: 2GB
write_deadline: "60s"
jetstream {{ store_dir: "{place}/fsynced", sync_interval: always }}
"""
RABBIT = """
listeners.tcp.default = {host}:{port}
log.console = true
log.console.level = error
log.file = false
"""


def redis(processes: Processes, sync: str = "always") -> Server:
    """Start Redis, which does not rewrite its file; if `sync` is "always", it answers after an fsync."""
    (port,) = free_ports(1)
    place = processes.place / f"redis-{sync}"
    place.mkdir()
    options = f"--bind {HOST} --port {port} --dir {place} --appendonly yes --appendfsync {sync}".split()
    command = [str(BIN / "redis-server"), *options, "--auto-aof-rewrite-percentage", "0", "--save", ""]
    name = f"redis-{sync}"
    return Server((listening(processes, name, command, port),), f"{HOST}:{port}", f"{HOST}:{port}")


def rabbit(processes: Processes) -> Server:
    """Start RabbitMQ with its own epmd, which would stay behind if Erlang started it."""
    port, epmd, other = free_ports(3)
    place = processes.place / "rabbit"
    place.mkdir()
    (place / "rabbitmq.conf").write_text(RABBIT.format(host=HOST, port=port))
    first = listening(processes, "epmd", [str(BIN / "epmd"), "-port", str(epmd), "-address", HOST], epmd)
    environ = {
        "HOME": place,
        "ERL_EPMD_PORT": epmd,
        "RABBITMQ_NODENAME": "bench@localhost",
        "RABBITMQ_DIST_PORT": other,
        "RABBITMQ_CONFIG_FILE": place / "rabbitmq.conf",
        "RABBITMQ_CONF_ENV_FILE": place / "none",
        "RABBITMQ_MNESIA_BASE": place / "mnesia",
        "RABBITMQ_LOG_BASE": place,
        "RABBITMQ_ENABLED_PLUGINS_FILE": place / "plugins",
        "RABBITMQ_SERVER_START_ARGS": "-noinput -start_epmd false",
    }
    command = ["env", *(f"{name}={value}" for name, value in environ.items()), str(BIN / "rabbitmq-server")]
    return Server(
        (listening(processes, "rabbitmq", command, port, STARTS), first), f"{HOST}:{port}", f"{HOST}:{port}"
    )


def node(processes: Processes) -> Server:
    return start(processes, "node")


def nats_fsync(processes: Processes) -> Server:
    """Start a newer NATS, which answers after an fsync; by default, NATS has one every two minutes."""
    (port,) = free_ports(1)
    path = processes.place / "fsync.conf"
    path.write_text(FSYNC.format(host=HOST, port=port, place=processes.place))
    command = [str(NEWER_NATS), "-c", str(path)]
    address = f"nats://{HOST}:{port}"
    return Server((listening(processes, "nats-fsync", command, port),), address, address)


def nats(processes: Processes) -> Server:
    return start(processes, "nats")
