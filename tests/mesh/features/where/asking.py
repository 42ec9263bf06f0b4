"""A simulated client that asks where names are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from mesh.kernel.context.incoming_call import IncomingCall, answer
from mesh.wire.calls import AskLocate
from mesh.wire.commands import Command, Reply
from mesh.wire.frames import write
from mesh.wire.replies import Located, Sighting, read_result
from tests.simulated_client import SimClient, client_of
from tests.simulation import SimNode

Handle = Callable[[IncomingCall[Any]], None]


class Asker:
    """A client at a node. `seconds` is the duration of the last question."""

    def __init__(self, node: SimNode, name: str = "asker") -> None:
        self.node = node
        self.client: SimClient = client_of(node, name)
        self.seconds = 0.0

    def reply(self, name: str) -> Reply:
        begun = self.node.net.now
        _, reply = self.client._called("locate", {"name": name})
        self.seconds = self.node.net.now - begun
        return reply

    def located(self, name: str) -> Located:
        reply = self.reply(name)
        assert not reply.code, reply.text
        return read_result(Located, reply.value)

    def rows(self, name: str) -> list[Sighting]:
        return self.located(name).sightings

    def places(self, name: str) -> list[tuple[str, str, str]]:
        """Return (name with its kind, node, reporting node) of each row."""
        return [(row.name, row.node, row.by) for row in self.rows(name)]

    def refused(self, name: str) -> tuple[str, str]:
        reply = self.reply(name)
        return reply.code, reply.text


class Heard(Counter[str]):
    """The number of questions that each node received from other nodes."""

    def __init__(self, *nodes: SimNode) -> None:
        super().__init__()
        for node in nodes:
            verbs = node.core.parts.context.face.peer_verbs
            verbs["locate"] = answer(AskLocate, self._counted(node.name, verbs["locate"].then))

    def _counted(
        self, node: str, then: Callable[[IncomingCall[Any]], None]
    ) -> Callable[[IncomingCall[Any]], None]:
        def asked(call: IncomingCall[Any]) -> None:
            self[node] += 1
            then(call)

        return asked


def say(node: SimNode, to: str, command: Command) -> None:
    """Send a command to a peer on the data connection, as a node that obeys no rules."""
    peer = node.core.parts.nodes.named(to)
    assert peer is not None and peer.data is not None
    node._send(peer.data.key, write(command))


def falls_silent(node: SimNode) -> None:
    """Let the node answer no question about names."""
    node.core.parts.context.face.peer_verbs["locate"] = answer(AskLocate, lambda asked: None)


def becomes_old(node: SimNode) -> None:
    """Let the node answer as a release without the verb."""
    del node.core.parts.context.face.peer_verbs["locate"]
