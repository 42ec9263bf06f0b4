"""The terms of a queue, their validation, and the comparison of two declarations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from math import isfinite
from numbers import Real
from operator import index
from typing import Any, Literal, get_args

from msgspec import Struct
from msgspec.structs import asdict

from mesh.errors import BadArgument, LocalError
from mesh.names import PUTS, node_name, queue_of
from mesh.patterns import SYSTEM
from mesh.shortening import shown
from mesh.values import check_key
from mesh.wire.codec import pack, unpack
from mesh.wire.limits import KIB

Scope = Literal["mesh", "node"]
Distribution = Literal["local", "round_robin", "strict", "independent"]
WhenFull = Literal["block", "reject"]

MOST_BYTES = 2**50
MOST_COUNT = 10**9
MOST_ATTEMPTS = 255
YEARS = 10 * 366 * 86_400.0  # s: ten years
NODES = 64  # names per queue
MOST_FIELDS = 64  # of a stored row, even from later releases


class QueueTerms(Struct, frozen=True, kw_only=True):
    """The terms of a queue, as `terms_of` validates them.

    Each node decides on its own in which store it keeps the messages of a queue.

    Attributes:
        scope: Whether every node of the mesh has the queue, or only the node where it was declared.
        distribution: How published messages are distributed over the nodes.
        redistribution: Seconds that a message waits without a matching consumer before it moves.
            None: waiting messages never move.
        max_bytes: Bytes at which the queue is full at one node, including outstanding messages.
        max_count: Messages at which the queue is full at one node, including outstanding ones.
        when_full: Whether a full queue blocks producers while a consumer is connected, or rejects messages.
        max_attempts: Failed deliveries after which a message is dead-lettered.
        dead_letter: The key or queue/NAME to which dead letters are published. Empty: the reserved topics
            that `mesh dlq` lists.
        expiry: Seconds that a message may wait. None: no limit.
        nodes: The nodes where messages stay. Empty: any node.
        exclusive: Whether only one consumer at a time receives messages at each node.
        policy: The plug-in that decides which messages move. Empty: the default rules.
    """

    scope: Scope = "mesh"
    distribution: Distribution = "local"
    redistribution: float | None = 1.0
    max_bytes: int = 1 << 30
    max_count: int = 10_000_000
    when_full: WhenFull = "block"
    max_attempts: int = 8
    dead_letter: str = ""
    expiry: float | None = None
    nodes: tuple[str, ...] = ()
    exclusive: bool = False
    policy: str = ""


def terms_of(said: Mapping[str, Any]) -> QueueTerms:
    """Return the terms given by name, with defaults for the rest. Raises: BadArgument for an invalid term."""
    if not isinstance(said, Mapping):
        raise BadArgument(
            f"Queue terms must be given by name, not as {shown(said)}.",
            hint='Pass a dictionary, such as {"max_attempts": 5}.',
        )
    for name in said:
        if name not in _FIELDS:
            near = get_close_matches(name[:40], _FIELDS, n=1) if isinstance(name, str) else ()
            hint = f"Did you mean {near[0]}?" if near else f"Use one of {', '.join(_FIELDS)}."
            raise BadArgument(f"Unknown queue term {shown(name)}.", hint=hint)
    return QueueTerms(**{name: _FIELDS[name](name, value) for name, value in said.items()})


def packed(terms: QueueTerms) -> bytes:
    return pack(plain(terms))


def plain(terms: QueueTerms) -> dict[str, Any]:
    """Return the terms as a dictionary that `terms_of` accepts."""
    return {**asdict(terms), "nodes": list(terms.nodes)}


def unpacked(data: bytes) -> QueueTerms:
    """Return the terms that `packed` wrote, without terms of later releases.

    Raises: LocalError, RemoteError.
    """
    said = unpack(data)
    if not isinstance(said, dict):
        raise LocalError(f"The row is not the definition of a queue, but {shown(said)}.", code="BAD_ROW")
    if len(said) > MOST_FIELDS:
        what = f"The definition of a queue has {len(said):,} terms; the limit is {MOST_FIELDS}."
        raise LocalError(what, code="BAD_ROW")
    return terms_of({name: value for name, value in said.items() if name in _FIELDS})


def differences(old: QueueTerms, new: QueueTerms) -> list[str]:
    """Return a text for each term that differs, with the old and the new value."""
    pairs = zip(asdict(old).items(), asdict(new).values(), strict=True)
    return [f"{name} is {_difference(was, now)}" for (name, was), now in pairs if was != now]


def same(old: QueueTerms, new: QueueTerms) -> bool:
    return old == new


def check_own(name: str, terms: QueueTerms) -> None:
    """Check that the queue `name` can have these terms. Raises: BadArgument."""
    if terms.dead_letter == f"{PUTS}{name}":
        what = f"dead_letter={terms.dead_letter!r} is the queue itself, so dead letters would fail forever."
        raise BadArgument(what, hint="Name another queue, or a key.")


def _difference(was: object, now: object) -> str:
    if isinstance(was, tuple) and isinstance(now, tuple) and len(was) == len(now) > 4:
        own, new = sorted({*was} - {*now}), sorted({*now} - {*was})
        return f"{_said(was)} with {own[0]!r}, not with {new[0]!r}"
    return f"{_said(was)}, not {_said(now)}"


def _said(value: object) -> str:
    if isinstance(value, str):
        return repr(value)  # whole: the difference may be at its end
    return f"{len(value)} nodes" if isinstance(value, tuple) and len(value) > 4 else shown(value)


# --- checks of single terms ---------------------------------------------------------------------------------


def _one_of(values: Iterable[str]) -> Callable[[str, Any], str]:
    known = tuple(values)

    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in known:
            near = get_close_matches(value[:40], known, n=1) if isinstance(value, str) else ()
            hint = f"Did you mean {near[0]!r}?" if near else f"Use one of {', '.join(known)}."
            raise _bad(name, value, hint)
        return str.__str__(value)

    return check


def _whole(lowest: int, highest: int) -> Callable[[str, Any], int]:
    def check(name: str, value: Any) -> int:
        try:
            number = index(value)
        except TypeError:
            number = None
        if number is None or isinstance(value, bool) or not lowest <= number <= highest:
            raise _bad(name, value, f"{name} must be a whole number from {lowest:,} to {highest:,}.")
        return number

    return check


def _seconds(*, zero: bool) -> Callable[[str, Any], float | None]:
    def check(name: str, value: Any) -> float | None:
        if value is None:
            return None
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        number = float(value) if is_number and abs(value) <= YEARS else -1.0
        if not isfinite(number) or number < 0 or not (number or zero):
            bounds = f"from 0 to {YEARS:,.0f}" if zero else f"above 0, at most {YEARS:,.0f}"
            raise _bad(name, value, f"{name} must be a number of seconds {bounds} (ten years), or None.")
        return number

    return check


def _dead_letter(name: str, value: Any) -> str:
    hint = f'{name} must be a key, {PUTS}NAME, or "" for the dead letters of the mesh.'
    if not isinstance(value, str):
        raise _bad(name, value, hint)
    text = str.__str__(value)
    if text.startswith(SYSTEM):  # a key that only nodes may publish
        raise _bad(name, value, f"{hint} Names that begin with {SYSTEM} are reserved.")
    try:
        if text.startswith(PUTS):
            queue_of(text)
        elif text:
            check_key(text)
    except LocalError as error:
        raise _bad(name, value, f"{error.what} {hint}") from None
    return text


def _nodes(name: str, value: Any) -> tuple[str, ...]:
    hint = f'{name} must be a list of at most {NODES} names, such as ["heron", "egret"].'
    if not isinstance(value, list | tuple | set | frozenset) or len(value) > NODES:
        raise _bad(name, value, hint)
    return tuple(sorted({_named(name, each, [each]) for each in value}))


def _named(name: str, value: Any, given: object, hint: str = "") -> str:
    """Return `value` if it is a valid name. `given` is the value of the term that the error shows."""
    try:
        return node_name(value)
    except LocalError as error:
        raise _bad(name, given, f"{hint}{error.hint}.") from None


def _policy(name: str, value: Any) -> str:
    hint = f'{name} must be the name of an installed plug-in, or "" for the usual rules. '
    return "" if isinstance(value, str) and not value else _named(name, value, value, hint)


def _yes_or_no(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _bad(name, value, f"{name} must be True or False.")
    return value


def _bad(name: str, value: object, hint: str) -> BadArgument:
    return BadArgument(f"A queue cannot have {name}={shown(value)}.", hint=hint)


_FIELDS: dict[str, Callable[[str, Any], Any]] = {
    "scope": _one_of(get_args(Scope)),
    "distribution": _one_of(get_args(Distribution)),
    "redistribution": _seconds(zero=True),
    "max_bytes": _whole(KIB, MOST_BYTES),
    "max_count": _whole(1, MOST_COUNT),
    "when_full": _one_of(get_args(WhenFull)),
    "max_attempts": _whole(1, MOST_ATTEMPTS),
    "dead_letter": _dead_letter,
    "expiry": _seconds(zero=False),
    "nodes": _nodes,
    "exclusive": _yes_or_no,
    "policy": _policy,
}
