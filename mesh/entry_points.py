"""Entry points of other distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from mesh.errors import FeatureFailed

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


def entries(group: str) -> list[EntryPoint]:
    from importlib.metadata import entry_points  # slow to load

    return list(entry_points(group=group))


def named(group: str, name: str, what: str, kind: type[T]) -> T | None:
    """Return the object of the only entry point with this name, or None. Arguments as for `load`.

    Raises: FeatureFailed if it cannot be loaded, or if several distributions provide one.
    """
    found = [entry for entry in entries(group) if entry.name == name]
    if len({entry.value for entry in found}) > 1:
        several = " and ".join(sorted(f"{entry.value} of {distribution(entry)}" for entry in found))
        raise FeatureFailed(f"The {what} {name!r} is provided by {several}.", hint="Uninstall all but one.")
    return load(found[0], what, kind) if found else None


def distribution(entry: EntryPoint) -> str:
    """Return the name of the distribution that declares the entry point, or "an unknown distribution"."""
    return entry.dist.name if entry.dist else "an unknown distribution"


def load(entry: EntryPoint, what: str, kind: type[T]) -> T:
    """Return the object of an entry point. `what` names its purpose in errors, such as "feature".

    Raises: FeatureFailed if it cannot be loaded or is not a `kind`.
    """
    place = f"The {what} {entry.name!r} ({entry.value} of {distribution(entry)})"
    hint = "Uninstall or update that package."
    try:
        found = entry.load()
    except Exception as error:  # foreign code may raise anything
        problem = f"{place} cannot be loaded: {type(error).__name__}: {error}."
        raise FeatureFailed(problem, hint=hint) from error
    if not isinstance(found, kind):
        raise FeatureFailed(f"{place} is of type {type(found).__name__}, not {kind.__name__}.", hint=hint)
    return found
