"""Reasons about maps and groups of counters, for `mesh why`."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from mesh.errors import LocalError
from mesh.features.spaces.model.definition import Definition
from mesh.features.spaces.node.claiming import Claiming
from mesh.features.spaces.node.homes import Homes
from mesh.features.spaces.node.leashes import Leashes
from mesh.features.spaces.node.spaces import Spaces
from mesh.features.spaces.node.voting import Voting
from mesh.flow.leash import SILENCE
from mesh.kernel.context.component import Component
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.routes.nodes import Nodes
from mesh.reasons.reason import ago, reason
from mesh.reasons.what import COUNTER, MAP, What
from mesh.wire.replies import Reason


class SpaceReasons(Component):
    """Component with the reasons about maps and groups of counters."""

    def __init__(
        self,
        context: NodeContext,
        nodes: Nodes,
        spaces: Spaces,
        voting: Voting,
        claiming: Claiming,
        leashes: Leashes,
        homes: Homes,
    ) -> None:
        self._context = context
        self._nodes = nodes
        self._spaces = spaces
        self._voting = voting
        self._claiming = claiming
        self._leashes = leashes
        self._homes = homes

    def explain(self, what: What) -> Iterator[Reason]:
        if what.kind not in (MAP, COUNTER):
            return
        space = f"{what.kind}/{what.text}"
        known = self._spaces.find(space)
        if known is None:
            return
        if what.is_start:
            yield from self._known(known)
        if known.home == self._context.me.uuid:
            yield from self._home(space, known)
        elif self._context.me.uuid in known.voters:
            yield self._voter(space, known)

    def _known(self, known: Definition) -> Iterator[Reason]:
        voters = [self._claiming.name_of(uuid) for uuid in known.electors]
        yield reason("SPACE_KNOWN", home=known.node, generation=known.generation, voters=voters)
        if known.home != self._context.me.uuid and not self._nodes.is_alive(known.node):
            yield reason("SPACE_HOME_AWAY", [known.node], home=known.node)

    def _home(self, space: str, known: Definition) -> Iterator[Reason]:
        left, head = self._leashes.left(space, known), self._homes.state(space).head
        text = "not needed" if left == inf else ago(left)
        yield reason("SPACE_HOME", generation=known.generation, keys=head.keys, bytes=head.size, left=text)
        try:
            self._homes.check(space)
        except LocalError as error:
            yield reason("SPACE_STOPPED", why=f"{error.what} [{error.code}]")

    def _voter(self, space: str, known: Definition) -> Reason:
        since = self._voting.since_beat(space)
        if since > SILENCE:
            return reason("SPACE_SILENT", [known.node], home=known.node)
        return reason("SPACE_VOTER", age=ago(since))
