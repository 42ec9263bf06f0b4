"""The measured clients, ours and those of peers, each with the call that sends."""

import argparse
import sys
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from tools.benchmarks.loads.load import Load
from tools.benchmarks.peers.servers import BIN, OURS, PYTHON, SERVERS, WITHOUT, Server

MODULES = "tools.benchmarks.peers"


@dataclass(frozen=True, slots=True)
class Who:
    """A measured client.

    `slow` is the divisor for the number of its messages, so that a run of it ends in time.
    """

    name: str
    server: str
    call: str  # the call that sends
    slow: int = 1
    sends: str = "send"  # role of the sender
    receives: str = "receive"  # role of the receiver; "": answers count
    many: bool = False  # publish_many

    @property
    def is_ours(self) -> bool:
        return self.server in OURS

    @property
    def is_installed(self) -> bool:
        server = WITHOUT.get(self.server) or (None if self.is_ours else SERVERS[self.server][0])
        return server is None or (server.exists() and self._program.exists())

    @property
    def is_python(self) -> bool:
        return self.name.endswith("-py")

    @property
    def _program(self) -> Path:
        return PYTHON if self.is_python else BIN / f"{self.server}-c"

    def sender(self, server: Server, load: Load) -> list[str]:
        return self._command(self.sends, server.inward, server, replace(load, many=self.many))

    def receiver(self, server: Server, load: Load) -> list[str]:
        return self._command(self.receives, server.outward, server, load)

    def _command(self, role: str, address: str, server: Server, load: Load) -> list[str]:
        if self.is_ours:
            packed = replace(load, domain=server.domain).packed()
            return [sys.executable, "-m", f"{MODULES}.ours", role, address, packed]
        if self.is_python:
            return [str(self._program), "-m", f"{MODULES}.{self.server}_py", role, address, load.packed()]
        numbers = map(str, (load.messages, load.size, load.topics, load.rate))
        return [str(self._program), role, address, load.root, *numbers, str(load.ready)]


PEERS = {
    who.name: who
    for who in (
        Who("heronry", "node", "post"),
        Who("heronry, many", "node", "publish_many", many=True),
        Who("heronry, two hops", "line", "post, three nodes"),
        Who("heronry, own nodes", "own", "post, mesh.node() in both"),
        Who("heronry, two nodes", "pair", "post, a node each"),
        Who("heronry, send", "node", "send, 1,000 at a time, answered"),
        Who("heronry, tcp", "node-tcp", "post, TCP"),
        Who("heronry, curve", "node-curve", "post, TCP with CURVE"),
        Who("heronry, sessions", "node", "connect, publish, answered, leave"),
        Who("nats-c", "nats", "publish"),
        Who("zmq-c", "zmq", "zmq_send, XPUB/XSUB proxy, no limits"),
        Who("redis-c", "redis", "PUBLISH, pipeline 100"),
        Who("redis-list-c", "redis", "RPUSH, pipeline 100; BLMPOP 100", sends="push", receives="pop"),
        Who("mosquitto-c", "mosquitto", "publish, QoS 0", slow=4),
        Who("nats-py", "nats", "publish", slow=4),
        Who("nats-sessions-py", "nats", "connect, publish, flush, close"),
        Who("zmq-py", "zmq", "send, XPUB/XSUB proxy, no limits"),
        Who("zenoh-py", "zenoh", "put, BLOCK, router"),
        Who("zenoh-peer-py", "zenoh_peer", "put, BLOCK, peer to peer"),
        Who("redis-py", "redis", "publish, pipeline 100", slow=4),
        Who("mosquitto-py", "mosquitto", "paho, publish, QoS 0", slow=10),
        Who("jetstream-c", "nats", "async, file, acked before fsync", sends="store", receives=""),
    )
}


def named(text: str, kind: str, known: Collection[str]) -> list[str]:
    """Return the comma-separated names. Raises: ArgumentTypeError, for an unknown one."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := [name for name in names if name not in known]:
        raise argparse.ArgumentTypeError(f"no {kind} is called {unknown[0]!r}; there are {', '.join(known)}")
    return names


def picked(text: str) -> list[str]:
    """Return ours, and the comma-separated clients or servers, or all if `text` names none.

    Raises: ArgumentTypeError, for an unknown one.
    """
    theirs = [who.name for who in PEERS.values() if not who.is_ours]
    names = named(text, "peer", [*SERVERS, *WITHOUT, *theirs])
    return [w.name for w in PEERS.values() if not names or w.is_ours or w.name in names or w.server in names]
