"""A client that stays at its node: a full node admits it, and a drained one does not redirect it."""

from __future__ import annotations

from msgspec.structs import replace

from mesh.client.core.effects import ClientEffect, SendCommand
from mesh.wire import commands as c
from mesh.wire.limits import OPERATOR
from tools.simulator.clients.hand import Hand


class Operator(Hand):
    """A client with the mark of an operator, as the commands of `mesh` have it."""

    def _do(self, effect: ClientEffect) -> None:
        if isinstance(effect, SendCommand) and isinstance(effect.command, c.Hello):
            hello = effect.command
            marked = replace(hello, speaks=(*hello.speaks, OPERATOR))
            effect = SendCommand(effect.key, marked, effect.envelopes)
        super()._do(effect)
