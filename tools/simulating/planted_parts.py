"""Mistakes that are planted in queues whose messages move to other nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mesh.core.queues.moves import moving
from mesh.core.queues.moves.arriving import Arriving
from mesh.core.queues.moves.leaving import Ended
from mesh.core.queues.moves.moving import Moving
from mesh.queues.moves import dealing

Patch = tuple[Any, str, Any]


def known_by_its_message() -> list[Patch]:
    judged = Arriving._judged

    def by_message(self: Any, source: Any, queue: Any, low: int, entry: Any, e: Any, fates: Any) -> Any:
        known = vars(self).setdefault("planted", set())
        name = e.stream, e.domain, e.first
        if name in known:
            fates.taken.append(entry[0])
            return None
        came = judged(self, source, queue, low, entry, e, fates)
        if came is not None:
            known.add(name)
        return came

    return [(Arriving, "_judged", by_message)]


def ended_by_a_timer() -> list[Patch]:
    tidy = Moving.tidy

    def ends(self: Any) -> None:
        for ways in list(self._ways.values()):
            for way in list(ways.values()):
                self._end(way, dict.fromkeys(way.answerable(), Ended.REFUSED))
        tidy(self)

    return [(Moving, "tidy", ends)]


def numbers_begin_at_one() -> list[Patch]:
    return [(moving, "first_of_boot", lambda boot: 1)]


def moves_without_end() -> list[Patch]:
    return [(dealing, "may_move", lambda lot, is_stranded, now: True)]


# Its name, seed and the law that it breaks.
PARTS: dict[str, tuple[int, str, Callable[[], list[Patch]]]] = {
    "what moves is known by its message": (3, "Q2", known_by_its_message),
    "what is on its way comes back by a timer": (3, "Q1", ended_by_a_timer),
    "the numbers of moves begin at 1 at each start": (1, "Q2", numbers_begin_at_one),
    "what waits moves to and fro": (2, "Q8", moves_without_end),
}
