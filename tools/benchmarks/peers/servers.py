"""The measured servers, one of each, on 127.0.0.1, with data in the benchmark's folder.

No server should drop messages of slow readers; limits for them are high or removed.
"""

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.benchmarks.loads.opening import with_own_nodes
from tools.running.line import DOMAIN, free_ports, start_line
from tools.running.nodes import ANYWHERE, READY, Node
from tools.running.processes import ROOT, Failed, Processes, Program

PLACE = ROOT / ".venv" / "peers"  # installed by tools/peers
BIN, PYTHON = PLACE / "bin", PLACE / "python" / "bin" / "python"
HOST = "127.0.0.1"
NATS = """
listen: "{host}:{port}"
max_pending: 2GB
write_deadline: "60s"
jetstream {{ store_dir: "{place}/jetstream" }}
"""
MOSQUITTO = """
listener {port} {host}
allow_anonymous true
max_queued_messages 0
set_tcp_nodelay true
"""


@dataclass(frozen=True, slots=True)
class Server:
    """The programs of a server, and its addresses for senders and receivers, which differ for a chain."""

    programs: tuple[Program, ...]
    inward: str
    outward: str
    domain: str = ""


def _nats(place: Path, port: int, _: int) -> tuple[list[str], str]:
    path = place / "nats.conf"
    path.write_text(NATS.format(host=HOST, port=port, place=place))
    return [str(BIN / "nats-server"), "-c", str(path)], f"nats://{HOST}:{port}"


def _redis(place: Path, port: int, _: int) -> tuple[list[str], str]:
    options = f"--bind {HOST} --port {port} --dir {place} --appendonly no".split()
    options += ["--save", "", "--client-output-buffer-limit", "pubsub 0 0 0"]
    return [str(BIN / "redis-server"), *options], f"{HOST}:{port}"


def _mosquitto(place: Path, port: int, _: int) -> tuple[list[str], str]:
    path = place / "mosquitto.conf"
    path.write_text(MOSQUITTO.format(host=HOST, port=port))
    return [str(BIN / "mosquitto"), "-c", str(path)], f"{HOST}:{port}"


def _zmq(_place: Path, port: int, other: int) -> tuple[list[str], str]:
    address = f"tcp://{HOST}:{port},tcp://{HOST}:{other}"
    return [str(BIN / "zmq-c"), "proxy", address], address


def _zenoh(_place: Path, port: int, _: int) -> tuple[list[str], str]:
    address = f"{HOST}:{port}"
    return [str(PYTHON), "-m", "tools.benchmarks.peers.zenoh_py", "route", address], address


# name: (the file without which it is not installed, its command and the address for clients)
SERVERS: dict[str, tuple[Path, Callable[[Path, int, int], tuple[list[str], str]]]] = {
    "nats": (BIN / "nats-server", _nats),
    "zmq": (BIN / "zmq-c", _zmq),
    "zenoh": (PYTHON, _zenoh),
    "redis": (BIN / "redis-server", _redis),
    "mosquitto": (BIN / "mosquitto", _mosquitto),
}


# Peers without a server: the file without which their clients are not installed.
WITHOUT = {"zenoh_peer": PYTHON}


def start(processes: Processes, name: str) -> Server:
    """Start a server, and return when it listens; a peer without a server gets only an address."""
    if name in OURS:
        return OURS[name](processes)
    if name in WITHOUT:
        address = f"{HOST}:{free_ports(1)[0]}"
        return Server((), address, address)
    port, other = free_ports(2)
    command, address = SERVERS[name][1](processes.place, port, other)
    return Server((listening(processes, name, command, port),), address, address)


def listening(
    processes: Processes, name: str, command: Sequence[str], port: int, limit: float = READY
) -> Program:
    """Start a server, and return when it listens.

    Raises Failed if the server does not listen within `limit` s, or ends.
    """
    program = processes.launch(name, *command)
    processes.until(lambda: program.ended() or _listens(port), limit, f"{name} did not listen")
    if program.ended():
        raise Failed(f"{name} ended by itself: {program.words()}")
    return program


def _started(processes: Processes, name: str, *options: str) -> Node:
    node = Node(processes, name, *ANYWHERE, *options)
    node.start()
    return node


def _node(processes: Processes) -> Server:
    node = _started(processes, "stork")
    return Server((node.program,), node.name, node.name)


def _tcp(processes: Processes) -> Server:
    """Start a node for clients that dial its address.

    By its name, clients would use its socket file instead of TCP.
    """
    node = _started(processes, "kite")
    return Server((node.program,), node.tcp, node.tcp)


def _curve(processes: Processes) -> Server:
    """Start a node with keys for clients that dial its address.

    The node has a mesh of its own, because keys apply to a whole mesh.
    """
    cluster = f"{processes.cluster}-keys"
    made = processes.run("init", "mesh", "init", "--cluster", cluster)
    if made.code:
        raise Failed(f"mesh init: {made.words()}")
    node = _started(processes, "ibis", "--cluster", cluster)
    return Server((node.program,), node.tcp, node.tcp)


def _line(processes: Processes) -> Server:
    """Start a chain of three nodes: messages from one end pass the other two."""
    heron, frodo, bilbo = start_line(processes, "heron", "frodo", "bilbo")
    return Server(tuple(n.program for n in (bilbo, frodo, heron)), bilbo.name, heron.name, DOMAIN)


def _pair(processes: Processes) -> Server:
    """Start two nodes, one for senders and one for receivers."""
    first = _started(processes, "swan")
    second = _started(processes, "teal", "--peer", first.tcp)
    return Server((first.program, second.program), second.name, first.name)


def _own(_: Processes) -> Server:
    """Return addresses for nodes in the clients' own processes."""
    return Server((), *with_own_nodes(f"tcp://{HOST}:{free_ports(1)[0]}"))


def _listens(port: int) -> bool:
    with socket.socket() as s:
        return s.connect_ex((HOST, port)) == 0


OURS: dict[str, Callable[[Processes], Server]] = {
    "node": _node,
    "line": _line,
    "pair": _pair,
    "own": _own,
    "node-tcp": _tcp,
    "node-curve": _curve,
}
