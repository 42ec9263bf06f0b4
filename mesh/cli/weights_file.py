"""Reads a weights.json strictly: an error names the place."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from mesh.errors import LocalError
from mesh.regular import open_regular
from mesh.weightset import PACKED, REASON, Weight, WeightSet, bad, check, packed
from mesh.wire.limits import LARGEST_NUMBER, MIB
from mesh.wrong_values import why_invalid

VERSION = 1
LONGEST = 4 * MIB  # bytes of a file
FULL = "x" * 255  # a session's name of full length
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HINT = "Create one with:  mesh weights learn"


class Versioned(msgspec.Struct):
    """The field that files of all versions have."""

    version: int


class WeightsFile(msgspec.Struct):
    """The fields of the file that are read; others are ignored."""

    cluster: str
    made: datetime
    expires: datetime
    weights: dict[str, Any]


class NodeWeight(msgspec.Struct):
    """The fields of a node's row that are read."""

    weight: float
    reason: str = ""


class GivenWeights(NamedTuple):
    """Weights as a node's call `weights` accepts them. Without `has_reasons`, the reasons did not fit."""

    given: dict[str, Any]
    has_reasons: bool


def read(path: Path) -> GivenWeights:
    """Return the weights in the file. Raises: LocalError BAD_WEIGHTS or BAD_NAME."""
    try:
        with open_regular(path) as file:
            data = file.read(LONGEST + 1)
    except OSError as error:
        hint = HINT
        if isinstance(error, PermissionError):
            hint = "Run the command as a user who may read the file."
        raise bad(f"{path} cannot be read: {error.strerror or error}.", hint) from error
    if len(data) > LONGEST:
        raise bad(
            f"{path} has more than {LONGEST // MIB} MiB, so it is probably not a file of weights.", HINT
        )
    try:
        return _found(data)
    except LocalError as error:
        raise LocalError(f"{path}: {error.what}", hint=error.hint or HINT, code=error.code) from error


def _found(data: bytes) -> GivenWeights:
    try:
        version = msgspec.json.decode(data, type=Versioned).version
        if version != VERSION:
            raise bad(f"Version {version} of the file is unknown here; only {VERSION} is supported.")
        file = msgspec.json.decode(data, type=WeightsFile)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise bad(f"The file has no valid weights: {why_invalid(error)}.") from error
    made, expires = _ns("made", file.made), _ns("expires", file.expires)
    weights = {node: _weight(node, row) for node, row in file.weights.items()}
    check(weights)
    fullest = WeightSet(LARGEST_NUMBER, made, expires, FULL, weights)
    has_reasons = len(packed(fullest)) <= PACKED
    rows = {node: [it.weight, it.reason if has_reasons else ""] for node, it in weights.items()}
    given = {"cluster": file.cluster, "made": made, "expires": expires, "weights": rows}
    return GivenWeights(given, has_reasons)


def _weight(node: str, said: Any) -> Weight:
    try:
        row = msgspec.convert(said, NodeWeight)
    except msgspec.ValidationError as error:
        raise bad(f"The entry of {node!r:.80} is not a weight: {why_invalid(error)}.") from error
    return Weight(row.weight, row.reason if len(row.reason) <= REASON else f"{row.reason[: REASON - 1]}…")


def _ns(what: str, when: datetime) -> int:
    """Return a time in ns since 1970. A time without a zone is UTC."""
    utc = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    found = (utc - EPOCH) // timedelta(microseconds=1) * 1000
    if not 0 <= found <= LARGEST_NUMBER:
        raise bad(f"The time {what!r} cannot be {when:%Y-%m-%d}.", "A clock may be wrong.")
    return found
