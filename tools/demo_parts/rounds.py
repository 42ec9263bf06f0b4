"""One round: a topic, a publisher at one node, a subscriber at each of the others, and a comparison."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

from tools.demo_parts.figures import Outcome, Row
from tools.demo_parts.nodes import READY, Node
from tools.demo_parts.processes import Failed, Processes, Program
from tools.demo_parts.screen import Screen

RATE = 3000  # lines a second while nodes are killed: much for a person to read, little for a mesh
ANSWERS = 20.0  # s for the last answers
ARRIVAL = 10.0  # s without anything new, after which the rest counts as lost
QUIET = 0.3  # s in which whatever would come twice shows itself
PARTS = "tools.demo_parts"


class Lines:
    """How many lines a growing file has."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self._read = 0

    def look(self) -> int:
        if self.path.exists():
            with self.path.open("rb") as file:
                file.seek(self._read)
                while block := file.read(1 << 20):
                    self._read += len(block)
                    self.count += block.count(b"\n")
        return self.count


class Round:
    """Publishes the first `count` lines of `text`: once, or with a `rate` again and again."""

    def __init__(
        self,
        processes: Processes,
        screen: Screen,
        nodes: list[Node],
        name: str,
        text: Path,
        count: int,
        rate: int = 0,
    ) -> None:
        self.name = name
        self._processes, self._screen, self._nodes = processes, screen, nodes
        self._text, self._count = text, count
        self._rate = (str(rate),) if rate else ()
        self._key = f"demo/{name}"
        self._answered = Lines(processes.place / f"{name}-answered")
        self._arrived = [Lines(processes.place / f"{name}-at-{node.name}") for node in nodes[1:]]
        self._subscribers: list[Program] = []
        self._publisher: Program | None = None
        self._began = 0.0
        self._kills_before = sum(node.kills for node in nodes)

    def begin(self) -> None:
        """Subscribe, and when everybody has, publish."""
        for node, lines in zip(self._nodes[1:], self._arrived, strict=True):
            arguments = (f"{PARTS}.subscriber", node.name, self._key, str(lines.path))
            self._subscribers.append(self._processes.start(lines.path.name, *arguments))
        self._wait(lambda: all(lines.path.exists() for lines in self._arrived), READY, "nobody subscribed")
        self._began = time.monotonic()
        self._publisher = self._processes.start(
            f"{self.name}-publisher", f"{PARTS}.publisher", self._nodes[0].name, self._key, str(self._text),
            str(self._count), str(self._answered.path), *self._rate,
        )  # fmt: skip

    def kill_and_restart(self, node: Node, rest: float) -> float:
        """kill -9 a node while publishing goes on, leave it dead for `rest` seconds, and start it again.

        Returns the seconds until what was published after the kill arrives everywhere.
        """
        node.kill()
        killed = time.monotonic()
        self._watch(rest)
        node.launch()
        self._wait(node.is_ready, READY, f"{node.name} was not ready again")
        before = self._answered.count
        self._wait(
            lambda: self._answered.count > before and min(lines.count for lines in self._arrived) > before,
            READY, f"after the restart of {node.name} nothing arrived",
        )  # fmt: skip
        return time.monotonic() - killed

    def flow(self, seconds: float) -> None:
        """Let it flow for a while; at least until the first line is everywhere."""
        self._watch(seconds)
        self._wait(lambda: all(lines.count for lines in self._arrived), READY, "nothing arrived")

    def finish(self, lose: int = 0) -> Outcome:
        """Stop publishing, wait for all, and compare. `lose` drops lines, to see that it is noticed."""
        assert self._publisher is not None
        if self._rate:
            self._publisher.signal(signal.SIGTERM)
        self._wait(self._publisher.ended, ANSWERS, "the last publishes were not answered")
        total = self._answered.look()
        self._await_arrival(total)
        seconds = time.monotonic() - self._began
        self._watch(QUIET)
        self._processes.end(self._subscribers)
        for _ in range(lose):
            lose_a_line(self._arrived[-1].path)
        outcome = self._compare(total, seconds)
        for lines in (self._answered, *self._arrived):
            lines.path.unlink()
        return outcome

    def _await_arrival(self, total: int) -> None:
        """Until all is there, or nothing more comes: then the comparison says what is missing."""
        last, since = -1, time.monotonic()
        while min(lines.count for lines in self._arrived) < total and time.monotonic() - since < ARRIVAL:
            self._watch(0.05)
            now = sum(lines.count for lines in self._arrived)
            if now != last:
                last, since = now, time.monotonic()

    def _compare(self, total: int, seconds: float) -> Outcome:
        # The text itself where it is published once, so that nobody's copy is trusted.
        published, count = (self._answered.path, total) if self._rate else (self._text, self._count)
        paths = [str(lines.path) for lines in self._arrived]
        program = self._processes.run(
            f"{self.name}-compare", f"{PARTS}.compare", str(published), str(count), *paths
        )
        said = [line.removeprefix(f"{self.name}-at-") for line in program.out.read_text().splitlines()]
        if program.code not in (0, 1) or len(said) != len(paths):
            raise Failed(f"the comparison broke down: {program.words()}")
        arrived = tuple(Lines(lines.path).look() for lines in self._arrived)
        kills = sum(node.kills for node in self._nodes) - self._kills_before
        return Outcome(self.name, count, arrived, kills, seconds, program.code == 0, tuple(said))

    # --- waiting, with an eye on everything -----------------------------------------------------------

    def _wait(self, condition: Callable[[], object], limit: float, failure: str) -> None:
        self._processes.until(condition, limit, failure, self._show)

    def _watch(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        self._wait(lambda: time.monotonic() >= end, seconds + 1, "time stood still")

    def _show(self) -> None:
        """Look at the files and programs, and show how things stand."""
        for program in (self._publisher, *self._subscribers):
            if program is not None and program.code:
                raise Failed(program.words() or f"{program.name} ended with exit code {program.code}")
        rows = []
        for node, lines in zip(self._nodes, (self._answered, *self._arrived), strict=True):
            what = "published" if lines is self._answered else "arrived"
            rows.append(Row(node.name, what, lines.look(), node.kills, node.is_up, node.state))
        self._screen.rows(rows)


def lose_a_line(path: Path) -> None:
    """Take the middle line out of a file."""
    lines = path.read_bytes().split(b"\n")
    del lines[(len(lines) - 1) // 2]  # the last one is what stands behind the last line end: nothing
    path.write_bytes(b"\n".join(lines))
