"""Creates the components for the rules of the mesh."""

from __future__ import annotations

from mesh.features.rules.shared_rules import SharedRules
from mesh.kernel.feature import FeatureParts
from mesh.kernel.parts import Parts


def rule_parts(k: Parts) -> FeatureParts:
    return FeatureParts(SharedRules(k.context, k.disk, k.shared, k.nodes, k.gossiping, k.ruling))
