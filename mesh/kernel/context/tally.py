"""Counts of choices, messages and gets for each other node, since this node started."""

import msgspec


class NodeTally(msgspec.Struct):
    """The counters for one node, which only grow."""

    chosen: int = 0  # times that the balancer chose it
    sent: int = 0  # messages forwarded to it
    asked: int = 0  # gets sent to it
    answered: int = 0  # gets that it answered
    seconds: float = 0.0  # total time of these answers

    @property
    def total(self) -> int:
        """A sum that differs after any counter has changed."""
        return self.chosen + self.sent + self.asked + self.answered


class Tally:
    """The counters of all nodes, by name."""

    def __init__(self) -> None:
        self.given: dict[str, NodeTally] = {}

    def counters_of(self, node: str) -> NodeTally:
        """Return the counters of a node, to be increased."""
        given = self.given.get(node)
        if given is None:
            given = self.given[node] = NodeTally()
        return given

    def total(self, what: str) -> int:
        return sum(getattr(given, what) for given in self.given.values())
