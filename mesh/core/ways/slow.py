"""Who lives and does not answer? It is waited for once, and hardly any more until it answers in time.

An answer that comes late may have waited on a wire that was cut: so whoever sends one is asked again. And
each is asked now and then, or else the first question after a long calm would pass by who is well again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from mesh.core.desk.desk import Desk
from mesh.core.desk.settings import CONFIRM
from mesh.wire.commands import Introduction

SHORT = 0.25  # s that a question waits for those that are slow: who is well again answers in it
TRY = 5.0  # s after which one that is slow is asked again by ourselves
ENOUGH = 1.0  # s that it must have been waited for
TRIALS = 1024  # questions of which it is remembered that nobody waits for the answer
SAY_AGAIN = 60.0  # s until it is told again of a node


class Slow:
    """By uuid. What it is asked while nobody waits is a trial: an answer in time ends it. `who` finds a node,
    `ask` asks it something that is answered at once.
    """

    def __init__(
        self, desk: Desk, who: Callable[[bytes], Introduction | None], ask: Callable[[bytes], None]
    ) -> None:
        self._desk = desk
        self._slow: dict[bytes, float] = {}  # when to try each next
        self._told: dict[bytes, float] = {}
        self._versions: dict[bytes, tuple[int, float]] = {}  # of interest, and when each was told it
        self._trials: OrderedDict[tuple[bytes, int], float] = OrderedDict()  # (whom, question) -> until when
        self._again: dict[bytes, float] = {}  # who was asked again, and until when that is enough
        self._who = who
        self._ask = ask

    def __contains__(self, uuid: bytes) -> bool:
        return uuid in self._slow

    def waited_for(self, uuid: bytes, seconds: float) -> None:
        """Note that a node has not answered for so long, while somebody waited."""
        if seconds >= ENOUGH and uuid not in self._slow:
            self._slow[uuid] = self._desk.now + TRY
            if self._desk.now - self._told.get(uuid, -SAY_AGAIN) >= SAY_AGAIN:
                self._told[uuid] = self._desk.now
                self._tell(uuid, "lives and does not answer: nobody waits for it until it does", "warning")

    def answers(self, uuid: bytes) -> None:
        """In time."""
        if uuid in self._slow:
            del self._slow[uuid]
            self._tell(uuid, "answers in time again", "info")

    # --- trials -----------------------------------------------------------------------------------------

    def tells(self, uuid: bytes, version: int, is_new: bool = False) -> None:
        """Note that it is told of an interest. `is_new`: on a fresh connection."""
        if is_new or uuid not in self._versions:
            self._versions[uuid] = version, self._desk.now

    def confirmed(self, uuid: bytes, version: int) -> None:
        """Note that it knows that version of our interest."""
        known = self._versions.get(uuid)
        if known is not None and version >= known[0]:
            del self._versions[uuid]
            if self._desk.now - known[1] <= CONFIRM:
                self.answers(uuid)
            else:
                self._late(uuid)

    def tries(self, uuid: bytes, request: int, until: float) -> None:
        """Note that it is asked, and nobody waits for the answer any more."""
        self._trials[uuid, request] = until
        if len(self._trials) > TRIALS:
            self._trials.popitem(last=False)

    def review(self) -> None:
        """Ask again whose turn it is."""
        for uuid in [uuid for uuid, due in self._slow.items() if due <= self._desk.now]:
            self._slow[uuid] = self._desk.now + TRY
            self._ask(uuid)

    def deadline(self) -> float | None:
        """When review() is next worth calling."""
        return min(self._slow.values(), default=None)

    def tried(self, uuid: bytes, request: int) -> bool:
        """Note an answer; returns whether that was asked."""
        until = self._trials.pop((uuid, request), None)
        if until is not None and self._desk.now <= until:
            self.answers(uuid)
        elif until is not None:
            self._late(uuid)
        return until is not None

    def _late(self, uuid: bytes) -> None:
        """Ask a node that has answered, but late: does it answer in time again?"""
        if uuid in self._slow and self._desk.now > self._again.get(uuid, -CONFIRM):
            self._again[uuid] = self._desk.now + CONFIRM
            self._ask(uuid)

    def forget(self, uuid: bytes) -> None:
        """Forget a node that is dead: another process of it is another matter."""
        for known in (self._slow, self._told, self._versions, self._again):
            known.pop(uuid, None)

    def _tell(self, uuid: bytes, what: str, level: str) -> None:
        node = self._who(uuid)
        if node is not None:
            self._desk.event("link", f"{node.name} {what}", node, level=level)
