"""What was sent to each node that its gossiped load cannot show yet?"""

from math import exp

FORGOTTEN = 0.01  # less than this is nothing


class SentCounts:
    """Messages sent to each node, by name; they fade as the nodes' own figures take them in.

    Not simply what was sent since a node's last state: at the moment of its state that node would look idle
    beside all others, to every sender at once, and one whose states do not arrive would look ever busier.
    """

    def __init__(self, fade: float = 2.0) -> None:
        """`fade`: s in which a message's weight falls to 1/e; the interval of states."""
        self._fade = fade
        self._sent: dict[str, tuple[float, float]] = {}  # how much, and when that was so

    def add(self, node: str, now: float, n: int = 1) -> None:
        """n messages were sent to it."""
        self._sent[node] = (self.of(node, now) + n, now)

    def of(self, node: str, now: float) -> float:
        """The amount that a node has had of late."""
        amount, then = self._sent.get(node, (0.0, now))
        return amount * exp((then - now) / self._fade)

    def forget(self, now: float) -> None:
        """Drop those who had nothing for long, so that this does not grow with the nodes that ever were."""
        self._sent = {node: had for node, had in self._sent.items() if self.of(node, now) >= FORGOTTEN}
