"""Nodes in a chain: bilbo knows frodo, frodo knows heron, and heron is master of a domain."""

import random
import socket

from tools.running.nodes import READY, Node, all_see
from tools.running.processes import Processes

DOMAIN = "RUGBY_NEWS"
# node -> the nodes that it knows, with the stratum in its rule for the domain, or None without a rule.
KNOWN: dict[str, dict[str, int | None]] = {
    "heron": {"heron": 0, "avalon": None},
    "avalon": {"heron": 0},
    "frodo": {"heron": 0},
    "bilbo": {"frodo": 1},
}
# The ports are below the ephemeral range, as a dead node's port must stay free.
PORTS = range(20_000, 30_000)


def configuration(name: str, ports: dict[str, int]) -> str:
    lines = ['default_scope = "local"', 'links = "configured"']
    lines += ["[node]", f'id = "{name}"', f'bind = ["tcp://127.0.0.1:{ports[name]}"]']
    for other, stratum in KNOWN[name].items():
        lines.append(f"[nodes.{other}]")
        if other != name and other in ports:
            lines.append(f'address = "tcp://127.0.0.1:{ports[other]}"')
        if stratum is not None:
            lines += [f"[[nodes.{other}.master]]", f'domains = ["{DOMAIN}"]', f"stratum = {stratum}"]
    return "\n".join(lines) + "\n"


def free_ports(count: int) -> list[int]:
    found: list[int] = []
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            break
    return found


def start_line(processes: Processes, *names: str, log_level: str = "warning") -> list[Node]:
    """Start the named nodes, or all four, and return when all see each other."""
    names = names or tuple(KNOWN)
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    nodes = []
    for name in names:
        path = processes.place / f"{name}.toml"
        path.write_text(configuration(name, ports))
        nodes.append(Node(processes, name, "--config", str(path), log_level=log_level))
    for node in nodes:
        node.start()
    processes.until(lambda: all_see(processes, nodes), READY, "no mesh")
    return nodes
