"""What does somebody hear who looks on at a queue's part, and changes nothing? The simulator does."""

# Law: what is heard is about to be so, or has just been: then its name says that.

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from mesh.queues.lots.counts import Runs
from mesh.queues.lots.lot import Lot
from mesh.queues.takers.taker import QueueTaker
from mesh.routing.parcel import Parcel
from mesh.routing.portion import Portion


class Watching(Protocol):
    """The one who looks on. A part without one pays a look for each of these."""

    def adds(self, lot: Lot) -> None:
        """It comes into the queue, to wait in memory."""

    def keeps(self, lot: Lot) -> None:
        """It is in memory from now on."""

    def pages(self, lot: Lot) -> None:
        """It comes into the queue, to wait on the disk alone."""

    def pages_plain(self, parcel: Parcel) -> None:
        """The same of one of which nothing has become."""

    def puts_back(self, lot: Lot) -> None:
        """It waits on the disk alone again."""

    def voids(self, runs: Runs) -> None:
        """These were being read when all was purged, and are done."""

    def purges(self) -> None:
        """All that is ready or delayed will be done."""

    def purged(self, messages: int) -> None:
        """That was so many."""

    def gives(self, taker: QueueTaker, portion: Portion) -> None:
        """This leaves for somebody."""

    def redistributes(self, pieces: Iterable[tuple[Lot, Runs]]) -> None:
        """Those of these that move next do so as they have waited in vain."""

    def goes(self, lot: Lot, runs: Runs, node: bytes) -> None:
        """These move to that node."""

    def went(self, lot: Lot, runs: Runs, node: bytes) -> None:
        """That node has taken these."""

    def refused(self, lot: Lot, runs: Runs, node: bytes) -> None:
        """That node has not taken these, as is to be written down."""

    def came_back(self, lot: Lot, runs: Runs) -> None:
        """That is on disk: these are ready again."""

    def gave_up(self, lot: Lot, runs: Runs) -> None:
        """That is on disk, and nobody wants them any more."""

    def comes(self, lot: Lot) -> None:
        """It has come from another node."""

    def has_no_room(self, where: str) -> None:
        """A move ends, as there is no room on the disk for what is to be said of it."""
