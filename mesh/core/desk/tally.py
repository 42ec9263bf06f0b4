"""What did each of the other nodes get from this one, since its start?"""

import msgspec


class NodeTally(msgspec.Struct):
    """To one node. Only grows."""

    chosen: int = 0  # times that the balancer took it, among several
    sent: int = 0  # messages forwarded to it
    asked: int = 0  # gets put to it,
    answered: int = 0  # those that it answered,
    seconds: float = 0.0  # and how long these took, all together

    @property
    def total(self) -> int:
        """Differs when anything was counted meanwhile."""
        return self.chosen + self.sent + self.asked + self.answered


class Tally:
    """By the name of the node."""

    def __init__(self) -> None:
        self.given: dict[str, NodeTally] = {}

    def of(self, node: str) -> NodeTally:
        """To be counted up."""
        given = self.given.get(node)
        if given is None:
            given = self.given[node] = NodeTally()
        return given

    def total(self, what: str) -> int:
        """One of NodeTally's counts, of all nodes together."""
        return sum(getattr(given, what) for given in self.given.values())
