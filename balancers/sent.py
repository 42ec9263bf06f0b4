"""Messages recently sent to each node, which its published load does not show yet."""

from math import exp

FORGOTTEN = 0.01  # smaller amounts are dropped


class SentCounts:
    """Messages sent to each node, by name, in amounts that decay as the nodes' own figures include them.

    A count since a node's last state would mislead. Right after a state the node would look idle to every
    sender immediately, and a node whose states do not arrive would look ever busier.
    """

    def __init__(self, fade: float = 2.0) -> None:
        """Set the time constant of the decay, `fade`, in s: usually the interval of node states."""
        self._fade = fade
        self._sent: dict[str, tuple[float, float]] = {}  # amount, and when it was computed

    def add(self, node: str, now: float, n: int = 1) -> None:
        self._sent[node] = (self.of(node, now) + n, now)

    def of(self, node: str, now: float) -> float:
        """Return the decayed amount of messages sent to the node."""
        amount, then = self._sent.get(node, (0.0, now))
        return amount * exp((then - now) / self._fade)

    def forget(self, now: float) -> None:
        """Drop nodes without recent messages, so that the table does not grow with all nodes ever seen."""
        self._sent = {node: had for node, had in self._sent.items() if self.of(node, now) >= FORGOTTEN}
