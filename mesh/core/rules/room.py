"""Creates the components for the rules of the mesh."""

from __future__ import annotations

from mesh.core.feature import FeatureParts
from mesh.core.parts import Parts
from mesh.core.rules.sharedrules import SharedRules


def rule_parts(k: Parts) -> FeatureParts:
    return FeatureParts(SharedRules(k.desk, k.disk, k.shared, k.nodes, k.gossiping, k.ruling))
