"""The features of a node: those that ship with it, and those of other distributions."""

from __future__ import annotations

from mesh.entry_points import entries, load
from mesh.features.all import FEATURES
from mesh.kernel.context.settings import Settings
from mesh.kernel.feature import Feature
from mesh.kernel.parts import Parts
from mesh.wire.commands import Introduction

GROUP = "mesh.features"  # the entry-point group


def installed() -> tuple[Feature[Parts], ...]:
    """Return all features, checked to work together.

    Raises: FeatureFailed for a feature that cannot be loaded or built, or that conflicts with another one.
    """
    found = (*FEATURES, *(load(entry, "feature", Feature) for entry in entries(GROUP)))
    if len(found) > len(FEATURES):  # a trial, before the node opens its store
        Parts(Settings(me=Introduction(bytes(16), "trial", 1, "")), bytes, lambda: 0.5, found)
    return found
