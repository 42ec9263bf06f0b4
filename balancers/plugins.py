"""Registry of strategies by name: built-in ones and those of other distributions."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from mesh.balancers.base import Balancer, Jitter
from mesh.balancers.guarded import Guarded
from mesh.balancers.least_loaded import LeastLoaded
from mesh.balancers.least_memory import LeastMemory
from mesh.balancers.local_first import LocalFirst
from mesh.balancers.rack_affinity import RackAffinity
from mesh.balancers.round_robin import RoundRobin
from mesh.balancers.sticky import Sticky
from mesh.balancers.threshold_loaded import ThresholdLoaded
from mesh.balancers.two_choices import TwoChoices
from mesh.balancers.weighted_round_robin import WeightedRoundRobin

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "mesh.balancers"  # the entry-point group
OURS: dict[str, Callable[..., Balancer]] = {
    "LeastLoaded": LeastLoaded,
    "LeastMemory": LeastMemory,
    "LocalFirst": LocalFirst,
    "RackAffinity": RackAffinity,
    "RoundRobin": RoundRobin,
    "Sticky": Sticky,
    "ThresholdLoaded": ThresholdLoaded,
    "TwoChoices": TwoChoices,
    "WeightedRoundRobin": WeightedRoundRobin,
}
# Options of the built-in strategies. Third-party strategies declare their options as arguments.
OPTIONS = {"RackAffinity": ("metadata",), "Sticky": ("header",), "ThresholdLoaded": ("threshold",)}
NO_OPTIONS: Mapping[str, object] = MappingProxyType({})


class BadBalancer(ValueError):
    """A strategy is not installed, or cannot be created."""

    code = "BAD_BALANCER"

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} [{self.code}]")
        self.what = what


def named(name: str, jitter: Jitter, options: Mapping[str, object] = NO_OPTIONS) -> Balancer:
    """Return a new balancer of the strategy `name`. Raises: BadBalancer.

    `jitter` returns random numbers in [0, 1). Built-in names take precedence. Third-party balancers are
    wrapped by `Guarded`.
    """
    found = [entry for entry in _foreign() if entry.name == name] if name not in OURS else []
    if not found and (ours := full_name(name)) in OURS:
        if strange := options.keys() - set(OPTIONS.get(ours, ())):
            raise BadBalancer(f"{ours} has no option {' or '.join(sorted(strange))}.{_taken_by(strange)}")
        return OURS[ours](jitter, **options)
    if not found:
        known = installed()
        near = difflib.get_close_matches(full_name(name[:80]), known, n=1)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise BadBalancer(
            f"The balancer {name[:80]!r} is not installed.{meant} Installed: {', '.join(known)}."
        )
    if len({entry.value for entry in found}) > 1:
        several = " and ".join(sorted(f"{entry.value} of {_origin(entry)}" for entry in found))
        raise BadBalancer(f"The balancer {name} is provided by {several}. Uninstall all but one.")
    return Guarded(name, _made(found[0], jitter, options), jitter)


def full_name(name: str) -> str:
    """Return the built-in name if `name` is its form in lower case with hyphens, or else `name` unchanged."""
    joined = "".join(part.capitalize() for part in name.split("-"))
    return joined if joined in OURS and name == name.lower() else name


def installed() -> list[str]:
    """Return the names of all built-in and installed strategies, sorted."""
    return sorted(OURS.keys() | {entry.name for entry in _foreign()})


def _taken_by(options: Collection[str]) -> str:
    first = min(options)
    takers = [name for name, taken in OPTIONS.items() if first in taken]
    return f" The option {first} belongs to {takers[0]}." if takers else ""


def _made(entry: EntryPoint, jitter: Jitter, options: Mapping[str, object]) -> Balancer:
    try:
        balancer: Balancer = entry.load()(jitter, **options)
    except Exception as error:  # foreign code may raise anything
        what = f"The balancer {entry.name} ({entry.value} of {_origin(entry)}) cannot be created"
        why = f"{type(error).__name__}: {error!s:.200}"
        is_older = isinstance(error, ModuleNotFoundError) and error.name == "balancers"
        hint = (
            "In its code, import mesh.balancers.base instead of balancers.base"
            if is_older
            else "Fix or uninstall it, or choose another strategy"
        )
        raise BadBalancer(f"{what}: {why}. {hint}.") from error
    lacking = [
        part
        for part in ("pick", "assign", "order", "started", "registrations")
        if not callable(getattr(balancer, part, None))
    ]
    if lacking:
        what = f"The balancer {entry.name} ({entry.value} of {_origin(entry)}) has no {', '.join(lacking)}"
        raise BadBalancer(
            f"{what}. Derive it from mesh.balancers.base.Strategy, which implements all methods but pick."
        )
    return balancer


def _foreign() -> list[EntryPoint]:
    # This import is slow, and built-in strategies do not need it.
    from importlib.metadata import entry_points

    return [entry for entry in entry_points(group=GROUP) if entry.name not in OURS]


def _origin(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else "an unknown distribution"
