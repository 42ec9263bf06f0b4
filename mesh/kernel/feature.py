"""Features: capabilities of a node that the kernel does not import."""

# Law: every feature is built in every node, whether it is used or not. Where it is not used, it costs nothing
#      on the path of a message, because its tables are empty.

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from mesh.errors import FeatureFailed
from mesh.kernel.context.component import Component

K = TypeVar("K")  # the components of the kernel


class FeatureParts:
    """The components of one feature in one node, lower layers first."""

    def __init__(self, *components: Component) -> None:
        self.components: Sequence[Component] = components


@dataclass(frozen=True, slots=True)
class Feature(Generic[K]):
    """A capability of a node.

    `build` creates the feature's components from those of the kernel. They are placed after the components of
    the features in `after`.
    """

    name: str
    build: Callable[[K], FeatureParts]
    after: tuple[str, ...] = ()


def in_order(features: Sequence[Feature[K]]) -> list[Feature[K]]:
    """Return the features in the given order, except that each one follows the features in its `after`.

    Raises: FeatureFailed for two features with the same name, an unknown name in `after`, or a cycle.
    """
    named: dict[str, Feature[K]] = {}
    for feature in features:
        if feature.name in named:
            raise FeatureFailed(
                f"Two features have the name {feature.name!r}.", hint="Uninstall a plug-in with this feature."
            )
        named[feature.name] = feature
    found: dict[str, Feature[K]] = {}
    for feature in features:
        _enter(feature, named, found, ())
    return list(found.values())


def _enter(
    feature: Feature[K], named: dict[str, Feature[K]], found: dict[str, Feature[K]], path: tuple[str, ...]
) -> None:
    if feature.name in path:
        circle = " -> ".join((*path[path.index(feature.name) :], feature.name))
        raise FeatureFailed(
            f"Features require each other in a cycle: {circle}.",
            hint="Uninstall a plug-in with one of them, or correct its `after`.",
        )
    for name in feature.after:
        if name not in named:
            raise FeatureFailed(
                f"The feature {feature.name!r} needs the feature {name!r}, which is not installed.",
                hint=f"Install the package of {name!r}, or uninstall that of {feature.name!r}.",
            )
        _enter(named[name], named, found, (*path, feature.name))
    found.setdefault(feature.name, feature)


def build(feature: Feature[K], kernel: K) -> FeatureParts:
    """Return the components of a feature. Raises: FeatureFailed if they cannot be built."""
    try:
        return feature.build(kernel)
    except FeatureFailed:
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {error}".rstrip(": .")  # the text may be empty
        what = f"The feature {feature.name!r} cannot be built: {why}."
        raise FeatureFailed(what, hint="Uninstall its package, or ask its author.") from error
