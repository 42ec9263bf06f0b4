"""Returns answers to the gateways of other sites that brought the messages."""

from __future__ import annotations

from mesh.core.context.conn import Conn
from mesh.core.context.node_context import NodeContext
from mesh.core.sites.aliases import Aliases
from mesh.core.sites.batches import say_relayed
from mesh.core.sites.gateway import UUID, Gateways
from mesh.core.sites.site_connection import Gateway, SiteConnection
from mesh.wire.commands import Answer, Outcome

FROM_SITE = b"s"  # prefix of a source: then uuid and site


class Answering:
    """Collects the answers of one event, and sends them in few messages when the event ends."""

    def __init__(self, desk: NodeContext, gateways: Gateways) -> None:
        self._desk = desk
        self._gateways = gateways
        self._answers: dict[tuple[bytes, str], list[Outcome]] = {}
        self.aliases = Aliases(desk.settings.secret)

    def send_answer(self, source: bytes, alias: bytes, answer: Answer, to: str = "") -> None:
        """Send the answer to messages of the stream with this alias to the gateway that brought them.

        `to` is the destination site if it is not this one.
        """
        outcome = Outcome(self.aliases.there(neighbour_of(source), alias), answer)
        self._answers.setdefault((source, to or self._desk.settings.site), []).append(outcome)
        self._desk.ending[self._send_answers] = None

    def _send_answers(self) -> None:
        answers, self._answers = self._answers, {}
        for (source, to), outcomes in answers.items():
            gateway = self._gateway(source)
            if gateway is not None:  # otherwise the peer resends on another connection
                say_relayed(self._desk, gateway.conn, to, outcomes)

    def is_there(self, source: bytes) -> bool:
        """Return whether the gateway of `source` is still connected."""
        return self._gateway(source) is not None

    def _gateway(self, source: bytes) -> Gateway | None:
        gate = self._gateways.gate(neighbour_of(source))
        return gate.gateways.get(source[len(FROM_SITE) :][:UUID]) if gate is not None else None


def source_of(gate: SiteConnection, conn: Conn) -> bytes:
    """Return the source that names the gateway at the other end of `conn`, which must be in use."""
    return FROM_SITE + gate.uuid_of(conn) + gate.name.encode()


def neighbour_of(source: bytes) -> str:
    """Return the name of the neighbor site to which the gateway `source` belongs."""
    return source[len(FROM_SITE) + UUID :].decode()
