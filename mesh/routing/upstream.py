"""How far is this node with the log of one master? It passes on, and settles only what its clients took."""

from collections import OrderedDict

from mesh.routing.parcel import Parcel


class Upstream:
    """Positions of one master's log: received, still owed to somebody here, settled."""

    def __init__(self) -> None:
        self.received = 0
        self._open: OrderedDict[int, Parcel] = OrderedDict()

    def receive(self, parcel: Parcel) -> bool:
        """Is it new? (After a reconnect the master sends again what was not settled.)"""
        if parcel.position <= self.received:
            return False
        self.received = parcel.position
        self._open[parcel.position] = parcel
        return True

    def open_at(self, position: int) -> Parcel | None:
        """What came from that place, if somebody here needs it still."""
        return self._open.get(position)

    def release(self, parcel: Parcel) -> bool:
        """Note that nobody here needs it any more. Did the settled position move?"""
        oldest = next(iter(self._open), 0)
        self._open.pop(parcel.position, None)
        return parcel.position == oldest

    @property
    def settled(self) -> int:
        """Everything up to here is done with."""
        oldest = next(iter(self._open), None)
        return self.received if oldest is None else oldest - 1
