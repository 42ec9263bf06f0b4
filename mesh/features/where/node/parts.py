"""Creates and connects the components that find names."""

from __future__ import annotations

from mesh.features.where.node.directory import Directory
from mesh.features.where.node.local_names import LocalNames
from mesh.features.where.node.locating import Locating
from mesh.features.where.node.reporting import NameReports
from mesh.kernel.feature import FeatureParts
from mesh.kernel.parts import Parts


class WhereParts(FeatureParts):
    """The components that find names here and at other nodes."""

    def __init__(self, k: Parts) -> None:
        self.directory = Directory(k.context, k.neighbours)
        self.reports = NameReports(k.context)
        names = LocalNames(k.context, k.neighbours, self.directory)
        self.locating = Locating(k.context, k.nodes, k.questions, names, self.reports)
        super().__init__(self.directory, self.reports, self.locating)
