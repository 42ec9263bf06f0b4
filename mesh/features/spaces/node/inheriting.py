"""Takes over spaces without values, such as locks, when their home is lost."""

# Law: only a voter that has received no heartbeat for SILENCE s claims such a space, one after the other
#      by rank. Spaces with values wait for their home, or for an operator (forcing.py).

from __future__ import annotations

from msgspec.structs import replace

from mesh.features.spaces.model.definition import WITHOUT_VALUES, Definition
from mesh.features.spaces.node.claiming import Claiming
from mesh.features.spaces.node.spaces import Spaces
from mesh.features.spaces.node.voting import Voting
from mesh.flow.leash import SILENCE
from mesh.kernel.context.component import Component
from mesh.kernel.context.node_context import NodeContext

TURN = 2.0  # s between the claims of two voters


class Inheriting(Component):
    """Component that takes over spaces without values."""

    def __init__(self, context: NodeContext, spaces: Spaces, voting: Voting, claiming: Claiming) -> None:
        self._context = context
        self._spaces = spaces
        self._voting = voting
        self._claiming = claiming

    def on_second(self) -> None:
        for kind in WITHOUT_VALUES:
            for space, known in list(self._spaces.all(f"{kind}/")):
                if self._is_due(space, known) and not self._claiming.is_open(space):
                    self._claim(space, known)

    def _is_due(self, space: str, known: Definition) -> bool:
        me = self._context.me.uuid
        if me not in known.voters or known.home == me:
            return False
        rank = known.voters.index(me)
        return self._voting.quiet_for(space) > SILENCE + TURN * rank

    def _claim(self, space: str, known: Definition) -> None:
        me = self._context.me
        voters = self._claiming.voters(space, me.uuid)
        wanted = replace(known, home=me.uuid, node=me.name, voters=voters, version=0)
        self._claiming.claim(space, wanted, lambda error: None)
