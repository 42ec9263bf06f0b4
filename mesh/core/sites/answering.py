"""The answers to what gateways of other sites have brought: they find back to whoever brought it."""

from __future__ import annotations

from mesh.core.desk.conn import Conn
from mesh.core.desk.desk import Desk
from mesh.core.sites.aliases import Aliases
from mesh.core.sites.batches import say_relayed
from mesh.core.sites.gate import Gate, Gateway
from mesh.core.sites.gateway import UUID, Gateways
from mesh.wire.commands import Answer, Outcome

FROM_SITE = b"s"  # begins the source of what a gateway has brought; then its uuid, and the name of its site


class Answering:
    """The answers of one event: they go in as few messages as they fit in, when it is over."""

    def __init__(self, desk: Desk, gateways: Gateways) -> None:
        self._desk = desk
        self._gateways = gateways
        self._answers: dict[tuple[bytes, str], list[Outcome]] = {}
        self.aliases = Aliases(desk.settings.secret)

    def answer(self, source: bytes, alias: bytes, answer: Answer, to: str = "") -> None:
        """That became of messages of the stream which has this name here. `to`: the site that they
        were for, if it is another one.
        """
        outcome = Outcome(self.aliases.there(neighbour_of(source), alias), answer)
        self._answers.setdefault((source, to or self._desk.settings.site), []).append(outcome)
        self._desk.ending[self._say] = None

    def _say(self) -> None:
        answers, self._answers = self._answers, {}
        for (source, to), outcomes in answers.items():
            gateway = self._gateway(source)
            if gateway is not None:  # else it is asked again on another connection
                say_relayed(self._desk, gateway.conn, to, outcomes)

    def is_there(self, source: bytes) -> bool:
        """Is that gateway still connected?"""
        return self._gateway(source) is not None

    def _gateway(self, source: bytes) -> Gateway | None:
        gate = self._gateways.gate(neighbour_of(source))
        return gate.gateways.get(source[len(FROM_SITE) :][:UUID]) if gate is not None else None


def source_of(gate: Gate, conn: Conn) -> bytes:
    """The gateway at the other end of a connection in use, as a source."""
    return FROM_SITE + gate.uuid_of(conn) + gate.name.encode()


def neighbour_of(source: bytes) -> str:
    """The neighbour whose gateway such a source is."""
    return source[len(FROM_SITE) + UUID :].decode()
