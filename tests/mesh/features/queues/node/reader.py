"""A simulated client with durable subscriptions, which also publishes."""

from __future__ import annotations

from typing import Any

from mesh.features.queues.node.parts import QueueParts
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.frames import body_frames
from tests.mesh.features.queues.node.worker import Worker
from tests.simulation import SimNode


class Reader(Worker):
    """A worker that also publishes, and consumes from durable subscriptions."""

    def durable(self, name: str, *queries: tuple[str, str, str]) -> c.Reply:
        return self.ask("durable", name=name, queries=queries or [("pattern", "birds/#", "")])

    def declare_refused(self, name: str) -> str:
        return self.ask("queue_declare", name=name, terms={}).code

    def remove(self, name: str) -> c.Reply:
        return self.ask("durable_remove", name=name)

    def posts(self, *contents: bytes, keys: Any = ("birds/heron",), flags: int = 0, domain: str = "") -> int:
        """Publish, and return the number of the first message. Of several keys, each message has one."""
        first = self.puts.get(f":{domain}", 0) + 1
        self.puts[f":{domain}"] = first + len(contents) - 1
        index = b"".join(i.to_bytes(2, "little") for i in range(len(keys))) if len(keys) > 1 else b""
        sizes = b"".join(len(x).to_bytes(4, "little") for x in contents)
        e = Envelope(
            self.stream, domain, first, first + len(contents) - 1, tuple(keys), len(contents), sizes,
            b"".join(contents), index=index, flags=flags,
        )  # fmt: skip
        self.say(c.Publish((body_frames(e),)), e)
        return first

    def state(self, number: int, domain: str = "") -> str:
        found = [a.state for a in self.answers if a.domain == domain and a.first <= number <= a.last]
        return found[-1] if found else ""

    def published(self, *contents: bytes, **how: Any) -> str:
        """Publish, wait for the answer, and return its state."""
        number = self.posts(*contents, **how)
        domain = how.get("domain", "")
        self.net.until(lambda: self.state(number, domain))
        return self.state(number, domain)

    def contents(self, number: int = 1) -> list[bytes]:
        return [content for _, content in self.got.get(number, ())]


def waiting(*nodes: SimNode, name: str = "audit") -> dict[str, int]:
    """Return how many messages the local queue of a durable subscription has, by node; only if any."""
    queues = {
        node.name: node.core.parts[QueueParts].queues.find(f"sub/{name}") for node in nodes if node.is_up
    }
    return {
        node: queue.part.backlog.messages
        for node, queue in queues.items()
        if queue and queue.part.backlog.messages
    }


def knows(node: SimNode, name: str = "audit") -> bool:
    return node.core.parts[QueueParts].durables.terms_of(name) is not None
