"""Sends the answers to messages back to the gateways of other sites that brought the messages."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import ClassVar

from msgspec import Struct

from mesh.features.sites.node.aliases import Aliases
from mesh.features.sites.node.batches import say_relayed
from mesh.features.sites.node.gateway import Gateways
from mesh.features.sites.node.site_connection import Gateway, SiteConnection
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.node_context import NodeContext
from mesh.wire.commands import Answer, Outcome


class Answering:
    """Collects the answers of one event, and sends them in few messages when the event ends."""

    def __init__(self, context: NodeContext, gateways: Gateways) -> None:
        self._context = context
        self._gateways = gateways
        self._answers: dict[tuple[FromSite, str], list[Outcome]] = {}
        self.aliases = Aliases(context.settings.secret)

    def send_answer(self, origin: FromSite, alias: bytes, answer: Answer, to: str = "") -> None:
        """Queue the answer to messages of the stream with this alias for the gateway that brought them.

        If that gateway is disconnected when the event ends, the answer is dropped: the other site resends the
        messages on another connection. `to` is the destination site of the messages; "" means this site.
        """
        outcome = Outcome(self.aliases.there(origin.site, alias), answer)
        self._answers.setdefault((origin, to or self._context.settings.site.name), []).append(outcome)
        self._context.out.ending[self._send_answers] = None

    def _send_answers(self) -> None:
        answers, self._answers = self._answers, {}
        for (origin, to), outcomes in answers.items():
            gateway = self.gateway_of(origin)
            if gateway is not None:  # otherwise the peer resends on another connection
                say_relayed(self._context, gateway.conn, to, outcomes)

    def origin_of(self, gate: SiteConnection, conn: Conn) -> FromSite:
        """Return the origin of the messages that the gateway at the other end of `conn` sends."""
        return FromSite(self, gate.name, gate.uuid_of(conn))

    def gateway_of(self, origin: FromSite) -> Gateway | None:
        """Return the gateway of `origin`, or `None` if it is not connected here."""
        gate = self._gateways.gate(origin.site)
        return gate.gateways.get(origin.uuid) if gate is not None else None


class FromSite(Struct, frozen=True):
    """A gateway of a neighbor site, as the origin of the messages that it brought."""

    is_local: ClassVar[bool] = False
    answering: Answering
    site: str
    uuid: bytes

    def answer(self, stream: bytes, answer: Answer) -> None:
        self.answering.send_answer(self, stream, answer)

    def is_there(self) -> bool:
        return self.answering.gateway_of(self) is not None

    def pace(self, stream: bytes) -> Hashable:
        return self, stream

    def features(self) -> Collection[str]:
        return ()

    def link(self) -> object:
        return None
