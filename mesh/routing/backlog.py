"""Portions that wait for a subscriber's credit. Which may wait, and which give way?"""

from __future__ import annotations

from mesh.routing.overflow import Credit, Overflow
from mesh.routing.portion import Portion, Portions


class Backlog(Portions):
    """Portions that wait, and know that they do, within the bounds of a policy."""

    def __init__(self, credit: Credit, overflow: Overflow) -> None:
        super().__init__()
        self._credit = credit
        self._oldest_go = overflow is Overflow.DROP_OLDEST

    def append(self, portion: Portion) -> None:
        portion.waiting = True
        super().append(portion)

    def take_all(self) -> list[Portion]:
        """Take out all of them."""
        portions = super().take_all()
        for portion in portions:
            portion.waiting = False
        return portions

    def _less(self, portion: Portion) -> Portion:
        portion.waiting = False
        return super()._less(portion)

    def has_room(self, portion: Portion, is_slow: bool) -> bool:
        """May it wait? `is_slow`: transient messages of its publishers wait as long as persistent ones."""
        credit = self._credit
        if portion.is_persistent:
            return self.bytes < credit.backlog
        if credit.messages and self.messages + portion.messages > credit.messages and self.messages:
            return False
        return self.bytes < (credit.backlog if is_slow else credit.bytes)

    def giving_way_to(self, portion: Portion) -> Portion | None:
        """The one that has waited longest, if it goes to make room for this one."""
        if not self._oldest_go or portion.is_persistent:
            return None
        return next((waiting for waiting in self if not waiting.is_persistent), None)
