"""What another site cannot take now: when does it go there again?

Full, or with a wrong clock, is no reason to lose anything: who keeps a message tries again, ever more rarely.
"""

from __future__ import annotations

from dataclasses import dataclass

from mesh.sites.hops import is_foreign

# Refusals that are no last words to another site. EXPIRED is one, too, of what is not void by itself.
FOR_NOW = frozenset({"CLOCK_AHEAD", "TAILBACK_FULL", "INBOX_FULL", "STORE_FULL", "STORE", "SITE_UNREACHABLE"})
SHORTEST, LONGEST = 0.25, 60.0  # s until what was put off is sent again

# Law: what was put off is sent again, with all that its publisher sent later, in order.


def is_for_now(sender: str, state: str, to: str = "") -> bool:
    """Is such a refusal of what came from another site no last word, so that nobody here keeps to it? Of a
    letter each is the last.
    """
    return state in FOR_NOW and not to and is_foreign(sender)


@dataclass(slots=True)
class _Pause:
    until: float
    length: float
    is_over: bool = False  # it was sent again, and not answered yet


class Pauses:
    """The streams that another site has put off, and when each goes there again."""

    def __init__(self) -> None:
        self._pauses: dict[bytes, _Pause] = {}

    def __contains__(self, key: bytes) -> bool:
        """Does it wait now?"""
        return (pause := self._pauses.get(key)) is not None and not pause.is_over

    def put_off(self, key: bytes, now: float) -> float:
        """The site said so. Returns when it goes again; each time in a row it waits twice as long."""
        pause = self._pauses.get(key)
        if pause is None:
            pause = self._pauses[key] = _Pause(now + SHORTEST, SHORTEST)
        elif pause.is_over:
            length = min(2 * pause.length, LONGEST)
            self._pauses[key] = pause = _Pause(now + length, length)
        return pause.until

    def went_on(self, key: bytes, now: float) -> None:
        """Something of it had its last word: so what was put off goes again soon."""
        pause = self._pauses.get(key)
        if pause is not None and pause.is_over:
            del self._pauses[key]
        elif pause is not None:
            pause.until, pause.length = min(pause.until, now + SHORTEST), SHORTEST

    def forget(self, key: bytes) -> None:
        """Nothing of it is owed any more."""
        self._pauses.pop(key, None)

    def over(self, now: float) -> list[bytes]:
        """What goes again now."""
        found = [key for key, pause in self._pauses.items() if not pause.is_over and pause.until <= now]
        for key in found:
            self._pauses[key].is_over = True
        return found

    def deadline(self) -> float | None:
        """When something goes again next; None: nothing waits."""
        return min((p.until for p in self._pauses.values() if not p.is_over), default=None)
