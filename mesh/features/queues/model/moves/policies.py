"""Redistribution policies: the default rules, and plug-ins."""

# Law: no answer of a plug-in moves messages to a node that does not want them, or more than it wants.

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Protocol

from mesh.entry_points import distribution, entries
from mesh.errors import LocalError
from mesh.features.queues.model.declared.definition import QueueTerms
from mesh.features.queues.model.moves.distribution import NodeUuid
from mesh.features.queues.model.moves.queue_report import QueueReport
from mesh.features.queues.model.moves.redistribution import Mine, Move, moves

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "mesh.redistribution"  # the entry-point group
REMEMBERED = 1_000  # names


class Policy(Protocol):
    """A function with the signature of `redistribution.moves`."""

    def __call__(
        self,
        terms: QueueTerms,
        mine: Mine,
        others: Mapping[NodeUuid, QueueReport],
        busy: Collection[NodeUuid],
        now: float,
        /,
    ) -> list[Move]: ...


class GuardedPolicy:
    """A plug-in policy; the default rules apply when the plug-in raises or returns an invalid answer.

    `faults` counts these failures. `fault` describes the last one and is empty before the first.
    """

    def __init__(self, name: str, inner: Policy) -> None:
        self.name = name
        self.faults = 0
        self.fault = ""
        self._inner = inner

    def __call__(
        self,
        terms: QueueTerms,
        mine: Mine,
        others: Mapping[NodeUuid, QueueReport],
        busy: Collection[NodeUuid],
        now: float,
        /,
    ) -> list[Move]:
        try:
            found = self._inner(terms, mine, others, busy, now)
            if isinstance(found, list) and all(_is_right(move, others, busy) for move in found):
                return found
            problem = f"answered {found!r:.80}"
        except Exception as error:  # foreign code may raise anything; messages still move
            problem = f"raised {type(error).__name__}: {error!s:.80}"
        self.faults += 1
        self.fault = f"redistribution {self.name} {problem}; the usual rules were used instead."
        return moves(terms, mine, others, busy, now)


def _is_right(move: object, others: Mapping[NodeUuid, QueueReport], busy: Collection[NodeUuid]) -> bool:
    if not isinstance(move, Move) or type(move.messages) is not int or type(move.is_stranded) is not bool:
        return False
    stock = others.get(move.target)
    if stock is None or stock.is_leaving or move.target in busy:
        return False
    return 0 < move.messages <= stock.wants


def policy(name: str = "") -> Policy:
    """Return the policy `name`, or the default rules if `name` is empty.

    Raises: LocalError if no plug-in or two different ones have the name, or if the policy cannot be loaded.
    """
    if not name:
        return moves
    found = [entry for entry in entries(GROUP) if entry.name == name]
    if not found:
        known = sorted({entry.name for entry in entries(GROUP)})
        near = difflib.get_close_matches(name[:80], known, n=1)
        meant = f"Did you mean {near[0]}? " if near else ""
        hint = f"{meant}Installed: {', '.join(known) or 'none'}. Without a name, the usual rules apply."
        raise _bad(f"The redistribution {name[:80]!r} is not installed.", hint)
    if len({entry.value for entry in found}) > 1:
        several = " and ".join(sorted(f"{entry.value} of {distribution(entry)}" for entry in found))
        raise _bad(f"The redistribution {name} is provided by {several}.", "Uninstall all but one.")
    return GuardedPolicy(name, _made(found[0]))


def _made(entry: EntryPoint) -> Policy:
    what = f"The redistribution {entry.name} ({entry.value} of {distribution(entry)})"
    try:
        made: Policy = entry.load()
    except Exception as error:  # foreign code may raise anything; name its origin
        why = f"{what} cannot be loaded: {type(error).__name__}: {error!s:.200}."
        raise _bad(why, "Fix or uninstall it, or declare the queue without a policy.") from error
    if not callable(made):
        raise _bad(f"{what} is not a function.", f"Its signature must be that of {moves.__module__}.moves.")
    return made


class Policies:
    """The policies that queues name, loaded when needed and cached.

    `tell(text)` is called when a policy cannot be loaded, and at the first fault of each loaded policy; the
    default rules then apply.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._known: dict[str, Policy] = {"": moves}
        self._told: set[str] = set()  # policies whose first fault was reported

    def moves(
        self,
        terms: QueueTerms,
        mine: Mine,
        others: Mapping[NodeUuid, QueueReport],
        busy: Collection[NodeUuid],
        now: float,
    ) -> list[Move]:
        it = self._known.get(terms.policy) or self._found(terms.policy)
        found = it(terms, mine, others, busy, now)
        if isinstance(it, GuardedPolicy) and it.fault and it.name not in self._told:
            self._told.add(it.name)
            self._tell(it.fault)
        return found

    def _found(self, name: str) -> Policy:
        if len(self._known) > REMEMBERED:
            self._known = {"": moves}
        try:
            it = policy(name)
        except LocalError as error:
            self._tell(f"{error.what} {error.hint}")
            it = moves
        self._known[name] = it
        return it


def _bad(what: str, hint: str) -> LocalError:
    return LocalError(what, hint=hint, code="BAD_REDISTRIBUTION")
