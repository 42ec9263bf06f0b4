"""Who is measured? Each client with the call it sends with, ours and our peers'."""

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tools.benchmarks.load import Load
from tools.benchmarks.peers.servers import BIN, OURS, PYTHON, SERVERS, Server

MODULES = "tools.benchmarks.peers"


@dataclass(frozen=True, slots=True)
class Who:
    """A client. `slow`: it sends that much less, so that it ends today."""

    name: str
    server: str
    call: str  # what it sends with
    slow: int = 1
    sends: str = "send"  # as what it is started
    many: bool = False  # publish_many

    @property
    def is_ours(self) -> bool:
        return self.server in OURS

    @property
    def is_installed(self) -> bool:
        return self.is_ours or all(path.exists() for path in (SERVERS[self.server][0], self._program))

    @property
    def is_python(self) -> bool:
        return self.name.endswith("-py")

    @property
    def _program(self) -> Path:
        return PYTHON if self.is_python else BIN / f"{self.server}-c"

    def sender(self, server: Server, load: Load) -> list[str]:
        return self._command(self.sends, server.inward, server, replace(load, many=self.many))

    def receiver(self, server: Server, load: Load) -> list[str]:
        return self._command("receive", server.outward, server, load)

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
        Who("nats-c", "nats", "natsConnection_Publish"),
        Who("zmq-c", "zmq", "zmq_send, PUB/SUB through XSUB/XPUB, no limits"),
        Who("redis-c", "redis", "PUBLISH, 100 in a pipeline"),
        Who("mosquitto-c", "mosquitto", "mosquitto_publish, QoS 0", slow=4),
        Who("nats-py", "nats", "publish", slow=4),
        Who("zmq-py", "zmq", "send, PUB/SUB through XSUB/XPUB, no limits"),
        Who("zenoh-py", "zenoh", "Publisher.put, BLOCK, router"),
        Who("redis-py", "redis", "publish, 100 in a pipeline", slow=4),
        Who("mosquitto-py", "mosquitto", "paho publish, QoS 0", slow=10),
        Who("jetstream-c", "nats", "js_PublishAsync, window 4,000, file, acked before fsync", sends="store"),
    )
}


def picked(names: Sequence[str]) -> Collection[str]:
    """Ours and these, each named by itself or by its server; all if none is.

    ValueError: nobody is called so.
    """
    if not names:
        return list(PEERS)
    for name in names:
        if not any(name in (who.name, who.server) for who in PEERS.values() if not who.is_ours):
            known = ", ".join([*SERVERS, *(who.name for who in PEERS.values() if not who.is_ours)])
            raise ValueError(f"no peer is called {name!r}; there are {known}")
    return [w.name for w in PEERS.values() if w.is_ours or w.name in names or w.server in names]
