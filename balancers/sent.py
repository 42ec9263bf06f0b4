"""Messages recently sent to each node and not yet included in its published load."""

from math import exp

FORGOTTEN = 0.01  # smaller amounts are dropped


class SentCounts:
    """Numbers of messages sent to each node, by name, which decay exponentially.

    A count since a node's last state would mislead. Just after each state the node would look idle to all
    senders at the same time, and a node whose states do not arrive would look busier and busier.
    """

    def __init__(self, fade: float = 2.0) -> None:
        """Set the time constant of the decay, `fade`, in s: usually the interval of node states."""
        self._fade = fade
        self._sent: dict[str, tuple[float, float]] = {}  # amount, and when it was computed

    def add(self, node: str, now: float, n: int = 1) -> None:
        self._sent[node] = (self.sent_to(node, now) + n, now)

    def sent_to(self, node: str, now: float) -> float:
        """Return the decayed number of messages sent to the node."""
        amount, then = self._sent.get(node, (0.0, now))
        return amount * exp((then - now) / self._fade)

    def drop_idle(self, now: float) -> None:
        """Drop nodes without recent messages, so that the table does not grow with all nodes ever seen."""
        self._sent = {node: had for node, had in self._sent.items() if self.sent_to(node, now) >= FORGOTTEN}
