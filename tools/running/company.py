"""How are nodes started, ended, and started again, and how long is it until the others say so?"""

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

LIMIT = 60.0  # s for anything that should be seen,
EACH = 3.0  # and for each node, of which many may share a core
POLL = 0.2  # s; the nodes say when something was, so that nobody must ask often


class Company:
    """Nodes that should all see each other, and those who ask them."""

    def __init__(self, processes: Processes, watch: Watch, nodes: Sequence[Node]) -> None:
        self._processes = processes
        self._watch = watch
        self._nodes = {node.name: node for node in nodes}
        self._more = EACH * len(nodes)

    def start(self) -> float:
        """All at once; returns when the last one was started, in s since 1970."""
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
        """Seconds until all had seen all."""
        return self.said(CAME, list(self._nodes), list(self._nodes), since)

    def end(self, name: str, number: signal.Signals, word: str) -> float:
        """Send it a signal; seconds until all others said that word of it. Then it is gone for certain."""
        self._watch.forget()
        self._watch.leave(name)
        node, since = self._nodes[name], time.time()
        node.program.signal(number)
        taken = self.said([word], self._others(name), [name], since)
        node.kill()
        return taken

    def start_again(self, name: str) -> float:
        """Seconds until it sees all, and all see it."""
        since = time.time()
        node = self._nodes[name]
        node.start()
        self._watch.join(name)
        others = self._others(name)
        return max(self.said(CAME, others, [name], since), self.said(CAME, [name], others, since))

    def said(self, kinds: Sequence[str], by: Sequence[str], of: Sequence[str], since: float) -> float:
        """Seconds until it was said; Failed when it is not."""
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
    """Keep what the nodes wrote when something fails within this; the failure says where it is."""
    try:
        yield
    except Failed as error:
        kept = Path(tempfile.mkdtemp(prefix="mesh-finding-"))
        for path in processes.place.glob("*.err"):
            shutil.copy(path, kept)
        raise Failed(f"{error} Logs: {kept}") from error
