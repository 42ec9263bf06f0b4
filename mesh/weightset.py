"""What may a set of weights hold? Checked alike when it is applied, spread, and read from the disk."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from discovery.state import Natural
from mesh.errors import LocalError
from mesh.names import node_name
from mesh.snapshots.moment import iso
from mesh.wire.codec import pack
from mesh.wire.limits import KIB

LOW, HIGH = 0.25, 4.0  # of a weight; 1 is that of a typical node
NODES = 4096  # of which one set can tell
REASON = 200  # letters
PACKED = 240 * KIB  # bytes of a whole set: it travels in one message
YEAR = 366 * 24 * 3600 * 10**9  # ns: for longer nobody can know

T = TypeVar("T")


class Weight(msgspec.Struct, frozen=True, array_like=True):
    """The weight of a node beside others, and why."""

    weight: float
    reason: Annotated[str, Meta(max_length=REASON)] = ""


class WeightSet(msgspec.Struct, frozen=True, array_like=True):
    """The weights of a mesh, as they are spread and stored. Times are ns since 1970."""

    stamp: Natural  # the hybrid clock when they were applied: of two sets the higher one counts
    made: Natural  # when they were reckoned
    expires: Natural  # from then on they count no more
    by: Annotated[str, Meta(pattern=r"^[ -~]{0,255}\Z")]  # the session that applied them
    weights: dict[str, Weight]


class Learnt(msgspec.Struct, frozen=True):
    """Weights that somebody applies. Times are ns since 1970."""

    made: Natural
    expires: Natural
    weights: dict[str, Weight]
    cluster: str = ""  # the mesh in which they were learnt


NONE = WeightSet(0, 0, 0, "", {})


def weight_set(values: object) -> WeightSet:
    """A set from its fields in a list. LocalError BAD_WEIGHTS, BAD_NAME, TOO_LARGE."""
    return checked(_converted(values, WeightSet))


def learnt(values: object) -> Learnt:
    """The set that somebody applies. LocalError BAD_WEIGHTS."""
    return _converted(values, Learnt)


def _converted(values: object, shape: type[T]) -> T:
    try:
        return msgspec.convert(values, shape)
    except msgspec.ValidationError as error:
        raise bad(f"this is no set of weights: {error}.") from error


def checked(found: WeightSet) -> WeightSet:
    """The set itself, if it can be one. LocalError as of `weight_set`."""
    check(found.weights)
    size = len(packed(found))
    if size > PACKED:
        what = f"weights of {len(found.weights)} nodes take {size:,} bytes, {PACKED:,} are the most."
        raise LocalError(what, hint="Give shorter reasons, or none.", code="TOO_LARGE")
    return found


def check_times(weights: WeightSet, wall: int) -> None:
    """Can these be its times, if it is `wall` now? LocalError BAD_WEIGHTS."""
    times = {"applied": weights.stamp, "made": weights.made, "good until": weights.expires}
    for what, time in times.items():
        if time > wall + YEAR:
            text = f"weights cannot be {what} {iso(time)}, more than a year from now."
            raise bad(text, "Is a clock wrong?")


def check(weights: dict[str, Weight]) -> None:
    """Are names and figures right? LocalError that names the node."""
    if len(weights) > NODES:
        raise bad(f"weights of {len(weights)} nodes, {NODES} are the most.")
    for node, it in weights.items():
        node_name(node)
        if not LOW <= it.weight <= HIGH:
            raise bad(f"the weight of {node} is {it.weight:g}, and must be from {LOW} to {HIGH:g}.")


def packed(weights: WeightSet) -> bytes:
    """As it is stored."""
    return pack(plain(weights))


def plain(weights: WeightSet) -> list[Any]:
    """As it is sent: what `weight_set` reads."""
    fields: list[Any] = msgspec.to_builtins(weights)
    return fields


def bad(what: str, hint: str = "") -> LocalError:
    """The refusal of a set."""
    return LocalError(what, hint=hint, code="BAD_WEIGHTS")
