"""The answers to what gateways of other sites have brought: they find back to whoever brought it."""

from __future__ import annotations

from mesh.core.desk.desk import Desk
from mesh.core.sites.aliases import Aliases
from mesh.core.sites.batches import say_relayed
from mesh.core.sites.gateway import UUID, Gateways
from mesh.wire.commands import Answer, Outcome

FROM_SITE = b"s"  # begins the source of what a gateway has brought; then its uuid, and the name of its site


class Answering:
    """The answers of one event: they go in as few messages as they fit in, when it is over."""

    def __init__(self, desk: Desk, gateways: Gateways) -> None:
        self._desk = desk
        self._gateways = gateways
        self._answers: dict[bytes, list[Outcome]] = {}
        self.aliases = Aliases(desk.settings.secret)

    def answer(self, source: bytes, alias: bytes, answer: Answer) -> None:
        """That became of messages of the stream which has this name here."""
        site = source[len(FROM_SITE) + UUID :].decode()
        self._answers.setdefault(source, []).append(Outcome(self.aliases.there(site, alias), answer))
        self._desk.ending[self._say] = None

    def _say(self) -> None:
        answers, self._answers = self._answers, {}
        for source, outcomes in answers.items():
            uuid, site = source[len(FROM_SITE) :][:UUID], source[len(FROM_SITE) + UUID :].decode()
            gate = self._gateways.gate(site)
            gateway = gate.gateways.get(uuid) if gate is not None else None
            if gateway is not None:  # else it is asked again on another connection
                say_relayed(self._desk, gateway.conn, self._desk.settings.site, outcomes)
