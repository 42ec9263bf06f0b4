"""A member of a group: what a subscription to it takes, as it would from any other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from mesh.client.core.serving import ClientServing
from mesh.client.message import Batch, Message
from mesh.errors import MeshError

Used = Callable[[], None]


class GroupMember:
    """The batches of one group, or of several that are read as one. Each batch that is used up is settled;
    what is not when the member goes is lost, as it is for any subscriber."""

    is_left = False

    def __init__(self, strands: Sequence[ClientServing]) -> None:
        self.strands: Sequence[ClientServing] = strands
        self.number: int = strands[0].number
        self.dropped: int = 0
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
        """Why nothing more will come: the failure of one is the end of all."""
        return next((strand.error for strand in self.strands if strand.error is not None), None)

    @property
    def is_in_use(self) -> bool:
        """Was a batch given that is not counted yet?"""
        return self._given is not None

    def take(self) -> Batch | None:
        """The next one, to be counted when it is used up; None: there is none now."""
        for _ in self.strands:
            self._turn.rotate(-1)
            found = self._turn[0].take_batch()
            if found is not None:
                batch, self._given = found
                return batch
        return None

    def count(self) -> None:
        """A batch is used up: the node may give another."""
        self.hold()()

    def hold(self) -> Used:
        """The batch in use stays so while others are taken; to be called when it is used up."""
        given, self._given = self._given, None
        return given or _nothing

    def put_back(self, rest: Sequence[Message], failed: bool) -> None:
        """What its user has not taken is lost with the member."""
        self.count()


def _nothing() -> None:
    """Nothing was in use."""
