"""A member of a group, with the interface of an `Intake` for its reader."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from mesh.client.batch import Batch
from mesh.client.message import Message
from mesh.errors import MeshError
from mesh.features.services.client.core.serving import ClientServing

Used = Callable[[], None]


class GroupMember:
    """The batches of one group member, for one query or several that are read as one.

    A batch is settled when it is consumed. Unconsumed batches are lost with the member.
    """

    is_left = False

    def __init__(self, strands: Sequence[ClientServing]) -> None:
        self.strands: Sequence[ClientServing] = strands
        self.number: int = strands[0].number
        self.dropped: int = 0
        self.unknown_gaps: int = 0
        self._given: Used | None = None
        self._turn: deque[ClientServing] = deque(strands)

    @property
    def stirred(self) -> Callable[[], None]:
        return self.strands[0].stirred

    @stirred.setter
    def stirred(self, stirred: Callable[[], None]) -> None:
        for strand in self.strands:
            strand.stirred = stirred

    @property
    def error(self) -> MeshError | None:
        """The error that ended the membership, or None. A failure of one query ends all of them."""
        return next((strand.error for strand in self.strands if strand.error is not None), None)

    @property
    def is_in_use(self) -> bool:
        return self._given is not None

    def next_batch(self) -> Batch | None:
        for _ in self.strands:
            self._turn.rotate(-1)
            found = self._turn[0].take_batch()
            if found is not None:
                batch, self._given = found
                return batch
        return None

    def mark_consumed(self) -> None:
        self.hold_batch()()

    def hold_batch(self) -> Used:
        given, self._given = self._given, None
        return given or _nothing

    def put_back(self, rest: Sequence[Message], failed: bool) -> None:
        """Mark the batch as consumed: unread messages are lost with the member."""
        self.mark_consumed()


def _nothing() -> None:
    """Do nothing: no batch is in use."""
