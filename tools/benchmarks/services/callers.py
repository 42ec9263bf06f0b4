"""The clients and servers, and the brokers that they need."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tools.benchmarks.peers import servers
from tools.benchmarks.peers.servers import BIN, HOST, PYTHON, Server
from tools.benchmarks.peers.who import named
from tools.benchmarks.services.asking import Asking
from tools.running.line import free_ports
from tools.running.processes import Processes

MODULES = "tools.benchmarks.services"
MOST = 4  # servers of one service


def _ports(prefix: str = "", count: int = MOST) -> Server:
    """Return `count` addresses at which the servers themselves listen, without a broker."""
    addresses = ",".join(f"{HOST}:{port}" for port in free_ports(count))
    return Server((), prefix + addresses, prefix + addresses)


@dataclass(frozen=True, slots=True)
class Caller:
    """A kind of client and server.

    Without the files `needs`, it is not installed. With `fresh`, each run has new addresses, because servers
    listen there.
    """

    name: str
    module: str
    start: Callable[[Processes], Server]
    note: str
    needs: tuple[Path, ...] = ()
    fresh: bool = False

    @property
    def is_ours(self) -> bool:
        return not self.needs

    @property
    def is_installed(self) -> bool:
        return all(path.exists() for path in self.needs)

    def server(self, at: Server, asking: Asking, number: int, work: float) -> list[str]:
        return self._command("serve", at.outward, replace(asking, server=number, work=work))

    def asker(self, at: Server, asking: Asking, count: int) -> list[str]:
        address = at.inward
        if self.fresh and "," in address:
            address = ",".join(address.split(",")[:count])
        return self._command("ask", address, asking)

    def _command(self, role: str, address: str, asking: Asking) -> list[str]:
        program = sys.executable if self.is_ours else str(PYTHON)
        return [program, "-m", f"{MODULES}.{self.module}", role, address, asking.packed()]


def _running(name: str) -> Callable[[Processes], Server]:
    return lambda processes: servers.start(processes, name)


_PACKAGES = PYTHON.parents[1] / "lib"


def _package(name: str) -> Path:
    """Return the folder of a peer's package, or a missing path."""
    return next(_PACKAGES.glob(f"*/site-packages/{name}"), _PACKAGES / name)


CALLERS = {
    caller.name: caller
    for caller in (
        Caller("heronry", "ours_rpc", _running("node"), "request, one node"),
        Caller("heronry, two nodes", "ours_rpc", _running("pair"), "request, a node each"),
        Caller(
            "heronry, own nodes",
            "ours_rpc",
            lambda _: _ports("own:", 1),
            "request, mesh.node() in all",
            fresh=True,
        ),
        Caller(
            "nats-py", "nats_rpc", _running("nats"), "request, queue group", (PYTHON, BIN / "nats-server")
        ),
        Caller("zenoh-py", "zenoh_rpc", _running("zenoh"), "get, queryable, router", (PYTHON,)),
        Caller(
            "zenoh-peer-py",
            "zenoh_rpc",
            lambda _: _ports("peer:"),
            "get, queryable, peer to peer",
            (PYTHON,),
            fresh=True,
        ),
        Caller(
            "grpc-py",
            "grpc_rpc",
            lambda _: _ports(),
            "grpc.aio, unary, round_robin",
            (PYTHON, _package("grpc")),
            fresh=True,
        ),
    )
}


def chosen_callers(text: str) -> list[str]:
    """Return the names of ours, and the comma-separated names, or all if `text` has none.

    Raises: ArgumentTypeError, for an unknown one.
    """
    names = named(text, "peer with requests", [name for name, who in CALLERS.items() if not who.is_ours])
    return [name for name, who in CALLERS.items() if not names or who.is_ours or name in names]
