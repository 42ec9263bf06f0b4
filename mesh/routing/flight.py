"""Slices in flight to a subscriber."""

from mesh.routing.envelope_slice import EnvelopeSlices
from mesh.routing.overflow import Credit


class Flight(EnvelopeSlices):
    """Slices sent to a subscriber and not acknowledged, with the limits of its credit."""

    def __init__(self, credit: Credit) -> None:
        super().__init__()
        self.sent = self.used = 0  # items, since the receiver last started over
        self._credit = credit

    def resize(self, credit: Credit) -> None:
        self._credit = credit

    @property
    def has_room(self) -> bool:
        credit = self._credit
        is_few = not credit.messages or self.messages < credit.messages
        return self.bytes < credit.bytes and len(self._row) < credit.items and is_few
