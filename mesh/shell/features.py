"""The features of a node: those that ship with it, and those of other distributions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mesh.errors import FeatureFailed
from mesh.features import FEATURES
from mesh.kernel.context.settings import Settings
from mesh.kernel.feature import Feature
from mesh.kernel.parts import Parts
from mesh.wire.commands import Introduction

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "mesh.features"  # the entry-point group


def installed() -> tuple[Feature[Parts], ...]:
    """Return all features, checked to work together.

    Raises: FeatureFailed for a feature that cannot be loaded or built, or that claims what another one has.
    """
    found = (*FEATURES, *map(_loaded, _others()))
    if len(found) > len(FEATURES):  # a trial, before the node opens its store
        Parts(Settings(me=Introduction(bytes(16), "trial", 1, "")), bytes, lambda: 0.5, found)
    return found


def _others() -> Iterable[EntryPoint]:
    from importlib.metadata import entry_points  # slow to load

    return entry_points(group=GROUP)


def _loaded(entry: EntryPoint) -> Feature[Parts]:
    where = f"{entry.value} of {entry.dist.name if entry.dist else 'an unknown distribution'}"
    hint = "Uninstall or update that package."
    try:
        feature = entry.load()
    except Exception as error:
        what = f"The feature {entry.name!r} ({where}) cannot be loaded: {type(error).__name__}: {error}."
        raise FeatureFailed(what, hint=hint) from error
    if not isinstance(feature, Feature):
        what = f"The feature {entry.name!r} ({where}) is a {type(feature).__name__}, not a `Feature`."
        raise FeatureFailed(what, hint=hint)
    return feature
