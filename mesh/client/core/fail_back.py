"""Decides whether a client returns to the node that the user prefers."""

# Law 1: a client returns only to a node that has been up for UP s, and not while work is unfinished.
# Law 2: a client returns at most once in PAUSE s, even if the preferred node comes and goes.

from __future__ import annotations

from typing import NamedTuple, get_args

from mesh.client.options import FailBackPolicy
from mesh.errors import BadArgument
from mesh.shortening import shown

POLICIES: tuple[str, ...] = get_args(FailBackPolicy)
UP = 60.0  # s that the preferred node must be up
PAUSE = 600.0  # s between two returns


class Wanted(NamedTuple):
    """The nodes that the user named, if there are several, and when the client returns to the first one."""

    names: tuple[str, ...] = ()
    fail_back: FailBackPolicy = "never"


def fail_back_policy(value: object) -> FailBackPolicy:
    """Return `value` if it is a policy. Raises: BadArgument."""
    if value == "never" or value == "when_idle":
        return value
    raise BadArgument(f"fail_back={shown(value)} is invalid.", hint=f"Use one of {', '.join(POLICIES)}.")


class FailBack:
    """The returns of one client to its preferred node."""

    def __init__(self, policy: FailBackPolicy = "never") -> None:
        self._policy = policy
        self._last = float("-inf")  # the last return

    @property
    def is_wanted(self) -> bool:
        """True if the client may return."""
        return self._policy != "never"

    def is_due(self, now: float, up_since: float | None, is_idle: bool) -> bool:
        """Return whether to return now; a return that is due counts as done.

        `up_since` is when the preferred node came up, `None` if it is down or is the client's node. A client
        `is_idle` if nothing is unanswered and it holds no unsettled message.
        """
        if not self.is_wanted or up_since is None or not is_idle:
            return False
        if now - up_since < UP or now - self._last < PAUSE:
            return False
        self._last = now
        return True
