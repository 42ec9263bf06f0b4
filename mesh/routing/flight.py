"""Portions under way to a subscriber. May more be?"""

from mesh.routing.overflow import Credit
from mesh.routing.portion import Portions


class Flight(Portions):
    """Portions that a subscriber was sent and has not taken, within its credit."""

    def __init__(self, credit: Credit) -> None:
        super().__init__()
        self.sent = self.used = 0  # items, since the other end began anew
        self._credit = credit

    def resize(self, credit: Credit) -> None:
        """This is the credit from now on."""
        self._credit = credit

    @property
    def has_room(self) -> bool:
        """May one more leave?"""
        credit = self._credit
        is_few = not credit.messages or self.messages < credit.messages
        return self.bytes < credit.bytes and len(self._row) < credit.items and is_few
