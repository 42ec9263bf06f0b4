"""The events that nodes report about each other, with their times, as clients receive them."""

from collections.abc import Collection, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from mesh import sync

PATIENCE = 30.0  # s for an answer of a busy machine
CAME = ("joined", "restarted")
WRONG = ("dead", "conflict")


@dataclass(frozen=True, slots=True)
class Said:
    """A report by the node `by` about an event of `node`; `at` is in s since 1970, by the clock of `by`."""

    by: str
    kind: str
    node: str
    at: float


def seconds(
    said: Iterable[Said], kinds: Collection[str], by: Collection[str], of: Collection[str], since: float
) -> float | None:
    """Return the seconds from `since` until all of `by` reported one of `kinds` for all others of `of`.

    None means that some of them have not reported it yet.
    """
    first: dict[tuple[str, str], float] = {}
    for s in said:
        if s.kind in kinds and s.at >= since:
            first.setdefault((s.by, s.node), s.at)
    wanted = {(observer, node) for observer in by for node in of if observer != node}
    return max(first[pair] for pair in wanted) - since if wanted <= first.keys() else None


def falsely(said: Iterable[Said], victim: str) -> list[Said]:
    """Return the reports that a node other than `victim` is dead or in conflict."""
    return [s for s in said if s.kind in WRONG and s.node != victim]


class Watch:
    """The clients of nodes, one for each node that joined.

    Leaving the context closes them.
    """

    def __init__(self, place: Path) -> None:
        self.said: list[Said] = []  # the oldest of each node first
        self._environ = {"MESH_STATE_DIR": str(place)}
        self._clients: dict[str, tuple[sync.Client, ExitStack]] = {}
        self._last: dict[str, int] = {}

    def __enter__(self) -> "Watch":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in list(self._clients):
            self.leave(name)

    def join(self, name: str) -> None:
        """Connect to a node, and follow its events from the node's start on."""
        stack = ExitStack()
        client = stack.enter_context(sync.connect(name, timeout=PATIENCE, environ=self._environ))
        self._clients[name], self._last[name] = (client, stack), 0

    def leave(self, name: str) -> None:
        """Close the client of a node before the node ends."""
        _, stack = self._clients.pop(name)
        stack.close()

    def look(self) -> None:
        for name, (client, _) in self._clients.items():
            while events := client.call("events", after=self._last[name])["events"]:
                self._last[name] = events[-1]["number"]
                self.said += [Said(name, e["kind"], e["node"], e["wall"] / 1e9) for e in events]

    def forget(self) -> None:
        """Forget all events until now."""
        self.look()
        self.said.clear()

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return the nodes that a node knows, as `mesh ls` shows them."""
        rows: list[dict[str, Any]] = self._clients[name][0].call("ls")["nodes"]
        return rows
