"""What do the nodes say of each other, and when did they say it? Their own events, asked for by clients."""

from collections.abc import Collection, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from mesh import sync

PATIENCE = 30.0  # s for one answer; a busy machine is slow, not wrong
CAME = ("joined", "restarted")
WRONG = ("dead", "conflict")


@dataclass(frozen=True, slots=True)
class Said:
    """A word of `by`: something of this kind happened to `node`; `at`: s since 1970, by its own clock."""

    by: str
    kind: str
    node: str
    at: float


def seconds(
    said: Iterable[Said], kinds: Collection[str], by: Collection[str], of: Collection[str], since: float
) -> float | None:
    """From `since` until each of `by` had said one of `kinds` of each other one in `of`; None: not yet."""
    first: dict[tuple[str, str], float] = {}
    for s in said:
        if s.kind in kinds and s.at >= since:
            first.setdefault((s.by, s.node), s.at)
    wanted = {(observer, node) for observer in by for node in of if observer != node}
    return max(first[pair] for pair in wanted) - since if wanted <= first.keys() else None


def falsely(said: Iterable[Said], victim: str) -> list[Said]:
    """Deaths that were told of nodes that lived, while `victim` did not."""
    return [s for s in said if s.kind in WRONG and s.node != victim]


class Watch:
    """A client at each node that it was told of. Within a `with`: leaving it closes them."""

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
        """Hear what this node says, from its start on."""
        stack = ExitStack()
        client = stack.enter_context(sync.connect(name, timeout=PATIENCE, environ=self._environ))
        self._clients[name], self._last[name] = (client, stack), 0

    def leave(self, name: str) -> None:
        """Before it goes."""
        _, stack = self._clients.pop(name)
        stack.close()

    def look(self) -> None:
        """Ask all for what is new."""
        for name, (client, _) in self._clients.items():
            while events := client.call("events", after=self._last[name])["events"]:
                self._last[name] = events[-1]["number"]
                self.said += [Said(name, e["kind"], e["node"], e["wall"] / 1e9) for e in events]

    def forget(self) -> None:
        """Forget what was said until now."""
        self.look()
        self.said.clear()

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The nodes that this one knows, as `mesh ls` shows them."""
        rows: list[dict[str, Any]] = self._clients[name][0].call("ls")["nodes"]
        return rows
