"""Sets of weights, with one check for applied weights, weights from other nodes, and weights from disk."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from mesh.discovery.state import Natural
from mesh.errors import LocalError
from mesh.names import node_name
from mesh.snapshots.moment import iso
from mesh.wire.codec import pack
from mesh.wire.limits import KIB
from mesh.wrong_values import why_invalid

LOW, HIGH = 0.25, 4.0  # bounds of a weight; 1 is typical
NODES = 4096  # nodes in a set, at most
REASON = 200  # characters
PACKED = 240 * KIB  # bytes of a set, which is one message
YEAR = 366 * 24 * 3600 * 10**9  # ns until the expiry, at most

T = TypeVar("T")


class Weight(msgspec.Struct, frozen=True, array_like=True):
    """The relative weight of a node, and its reason."""

    weight: float
    reason: Annotated[str, Meta(max_length=REASON)] = ""


class WeightSet(msgspec.Struct, frozen=True, array_like=True):
    """The weights of a mesh, as sent and stored. Times are in ns since 1970."""

    stamp: Natural  # hybrid clock when applied; the highest wins
    made: Natural  # time of calculation
    expires: Natural  # end of validity
    by: Annotated[str, Meta(pattern=r"^[ -~]{0,255}\Z")]  # the session that applied them
    weights: dict[str, Weight]


class Learnt(msgspec.Struct, frozen=True):
    """Weights to be applied. Times are in ns since 1970."""

    made: Natural
    expires: Natural
    weights: dict[str, Weight]
    cluster: str = ""  # the mesh in which they were learned


NONE = WeightSet(0, 0, 0, "", {})


def weight_set(values: object) -> WeightSet:
    """Return a set from a list of its fields. Raises: LocalError BAD_WEIGHTS, BAD_NAME, TOO_LARGE."""
    return checked(_converted(values, WeightSet))


def learnt(values: object) -> Learnt:
    """Return a learned set from a map of its fields. Raises: LocalError BAD_WEIGHTS."""
    return _converted(values, Learnt)


def _converted(values: object, shape: type[T]) -> T:
    try:
        return msgspec.convert(values, shape)
    except msgspec.ValidationError as error:
        raise bad(f"The weights are invalid: {why_invalid(error)}.") from error


def checked(found: WeightSet) -> WeightSet:
    check(found.weights)
    size = len(packed(found))
    if size > PACKED:
        what = f"Weights of {len(found.weights):,} nodes take {size:,} bytes; the limit is {PACKED:,}."
        hint = "Give shorter reasons or none, or weights of fewer nodes."
        raise LocalError(what, hint=hint, code="TOO_LARGE")
    return found


def check_times(weights: WeightSet, wall: int) -> None:
    """Raise LocalError BAD_WEIGHTS if one of the times is more than a year after `wall`."""
    times = {"applied": weights.stamp, "made": weights.made, "valid until": weights.expires}
    for what, time in times.items():
        if time > wall + YEAR:
            text = f"Weights cannot be {what} {iso(time)}, more than a year from now."
            raise bad(text, "A clock may be wrong.")


def check(weights: dict[str, Weight]) -> None:
    if len(weights) > NODES:
        raise bad(f"Weights of {len(weights)} nodes exceed the limit of {NODES}.")
    for node, it in weights.items():
        node_name(node)
        if not LOW <= it.weight <= HIGH:
            raise bad(f"The weight of {node} is {it.weight:g}; it must be from {LOW} to {HIGH:g}.")


def packed(weights: WeightSet) -> bytes:
    return pack(plain(weights))


def plain(weights: WeightSet) -> list[Any]:
    """Return the set as a list of its fields, as it is sent; `weight_set` is the inverse."""
    fields: list[Any] = msgspec.to_builtins(weights)
    return fields


def bad(what: str, hint: str = "") -> LocalError:
    return LocalError(what, hint=hint, code="BAD_WEIGHTS")
