"""Backoff for messages that another site cannot accept now.

A full buffer or a wrong clock is no reason to lose a message, so the node that keeps it retries at growing
intervals.
"""

from __future__ import annotations

from dataclasses import dataclass

from mesh.hops import is_foreign
from mesh.remote_names import WAY_LOST

# Refusals that are not final for another site. Nor is EXPIRED, unless the message expired by its own
# time.
FOR_NOW = frozenset({"CLOCK_AHEAD", "TAILBACK_FULL", "INBOX_FULL", "STORE_FULL", "STORE", "SITE_UNREACHABLE"})
# These refusals concern the latest route of a direct message, which may have arrived over another route. A
# missing right or a wrong node name is final.
_OF_ITS_ROUTE = FOR_NOW | {"CIRCULAR_LOOP"}
SHORTEST, LONGEST = 0.25, 60.0  # s until a deferred message is resent

# Law: a deferred message is resent together with all later ones of its publisher, in order.


def is_for_now(sender: str, state: str, to: str = "") -> bool:
    """Return whether the refusal of a message from another site is temporary.

    No node of this site then remembers the refusal. For a direct message every refusal is final.
    """
    return state in FOR_NOW and not to and is_foreign(sender)


def goes_again(state: str, may_be_there: bool) -> bool:
    """Return whether an answer with the code `state` is not final, so that the message is resent.

    If the message may have arrived before, a refusal because of its latest route is not final.
    """
    return state == WAY_LOST or (may_be_there and state in _OF_ITS_ROUTE)


@dataclass(slots=True)
class _Pause:
    until: float
    length: float
    is_over: bool = False  # resent, and not answered yet


class StreamBackoff:
    """The streams that another site has deferred, and when each is resent."""

    def __init__(self) -> None:
        self._pauses: dict[bytes, _Pause] = {}

    def __contains__(self, key: bytes) -> bool:
        """Return whether the stream waits now."""
        return (pause := self._pauses.get(key)) is not None and not pause.is_over

    def defer_stream(self, key: bytes, now: float) -> float:
        """Defer the stream, and return when it is resent. Each deferral after a resend doubles the pause."""
        pause = self._pauses.get(key)
        if pause is None:
            pause = self._pauses[key] = _Pause(now + SHORTEST, SHORTEST)
        elif pause.is_over:
            length = min(2 * pause.length, LONGEST)
            self._pauses[key] = pause = _Pause(now + length, length)
        return pause.until

    def went_on(self, key: bytes, now: float) -> None:
        """End or shorten the pause, because the site has given a final answer for part of the stream."""
        pause = self._pauses.get(key)
        if pause is not None and pause.is_over:
            del self._pauses[key]
        elif pause is not None:
            pause.until, pause.length = min(pause.until, now + SHORTEST), SHORTEST

    def drop_stream(self, key: bytes) -> None:
        self._pauses.pop(key, None)

    def take_ended(self, now: float) -> list[bytes]:
        """Return the streams to be resent now, and record that they are resent."""
        found = [key for key, pause in self._pauses.items() if not pause.is_over and pause.until <= now]
        for key in found:
            self._pauses[key].is_over = True
        return found

    def deadline(self) -> float | None:
        """Return when the next stream is resent, or None if none waits."""
        return min((p.until for p in self._pauses.values() if not p.is_over), default=None)
