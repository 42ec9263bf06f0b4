"""Starts, ends and restarts nodes, and measures the time until other nodes report it."""

import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools.running.nodes import READY, Node
from tools.running.processes import Failed, Processes
from tools.running.watch import CAME, Watch, seconds

LIMIT = 60.0  # s until an event must be reported,
EACH = 3.0  # and s for each node on shared cores
POLL = 0.2  # s between polls, as events have timestamps


class Company:
    """Nodes that should all see each other, and the clients that read their events."""

    def __init__(self, processes: Processes, watch: Watch, nodes: Sequence[Node]) -> None:
        self._processes = processes
        self._watch = watch
        self._nodes = {node.name: node for node in nodes}
        self._more = EACH * len(nodes)

    def start(self) -> float:
        """Start all nodes at once, and return the time of the last start, in s since 1970.

        All nodes are ready then, and their events are followed.
        """
        for node in self._nodes.values():
            node.launch()
        started = time.time()
        self._processes.until(self._are_ready, READY + self._more, "not every node was ready")
        for name in self._nodes:
            self._watch.join(name)
        return started

    def _are_ready(self) -> bool:
        return all(node.is_ready() for node in self._nodes.values())

    def _others(self, name: str) -> list[str]:
        return [other for other in self._nodes if other != name]

    def met(self, since: float) -> float:
        """Return the seconds from `since` until each node had seen all others."""
        return self.said(CAME, list(self._nodes), list(self._nodes), since)

    def end(self, name: str, number: signal.Signals, word: str) -> float:
        """Send a signal to a node, and return the seconds until all others reported `word`.

        The node is killed afterwards.
        """
        self._watch.forget()
        self._watch.leave(name)
        node, since = self._nodes[name], time.time()
        node.program.signal(number)
        taken = self.said([word], self._others(name), [name], since)
        node.kill()
        return taken

    def start_again(self, name: str) -> float:
        """Restart a node, and return the seconds until it sees all others, and they see it."""
        since = time.time()
        node = self._nodes[name]
        node.start()
        self._watch.join(name)
        others = self._others(name)
        return max(self.said(CAME, others, [name], since), self.said(CAME, [name], others, since))

    def said(self, kinds: Sequence[str], by: Sequence[str], of: Sequence[str], since: float) -> float:
        """Return the seconds from `since` until all of `by` reported one of `kinds` for all others of `of`.

        Raises Failed after a limit that grows with the nodes.
        """
        limit = time.monotonic() + LIMIT + self._more
        while True:
            self._watch.look()
            taken = seconds(self._watch.said, kinds, by, of, since)
            if taken is not None:
                return taken
            if time.monotonic() > limit:
                raise Failed(f"not all of {', '.join(by)} said {kinds[0]} of {', '.join(of)}.")
            self._processes.pause(POLL)


@contextmanager
def logs_kept(processes: Processes) -> Iterator[None]:
    """Keep the nodes' logs when the context raises Failed; the error then names their folder."""
    try:
        yield
    except Failed as error:
        kept = Path(tempfile.mkdtemp(prefix="mesh-finding-"))
        for path in processes.place.glob("*.err"):
            shutil.copy(path, kept)
        raise Failed(f"{error} Logs: {kept}") from error
