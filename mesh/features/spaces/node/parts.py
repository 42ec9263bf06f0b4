"""Creates and connects the components of spaces."""

from __future__ import annotations

from mesh.features.spaces.node.claiming import Claiming
from mesh.features.spaces.node.homes import Homes
from mesh.features.spaces.node.space_calls import SpaceCalls
from mesh.features.spaces.node.spaces import Spaces
from mesh.kernel.feature import FeatureParts
from mesh.kernel.parts import Parts


class SpaceParts(FeatureParts):
    """The components of maps and counters."""

    def __init__(self, k: Parts) -> None:
        self.spaces = Spaces(k.context, k.shared)
        self.homes = Homes(k.context, k.disk, k.router, self.spaces)
        self.claiming = Claiming(k.context, k.disk, k.neighbours, k.questions, self.spaces)
        calls = SpaceCalls(k.context, k.nodes, k.questions, self.spaces, self.claiming, self.homes)
        super().__init__(self.spaces, self.homes, self.claiming, calls)
