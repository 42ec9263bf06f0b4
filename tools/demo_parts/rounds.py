"""The rounds of the demo: a topic, a publisher at the slave, receivers, and a comparison."""

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.demo_parts.compare import expected
from tools.demo_parts.figures import Kill, Outcome, Row
from tools.demo_parts.growing import Lines, lose_a_line
from tools.demo_parts.journey import EVERY, READER
from tools.demo_parts.nodes import READY, Node
from tools.demo_parts.screen import Screen
from tools.running.processes import Failed, Processes, Program

RATE = 3000  # lines per second while a node is killed
ANSWERS = 20.0  # s for the last answers
ARRIVAL = 10.0  # s without news until messages are lost
QUIET = 0.3  # s in which duplicates would arrive
PARTS = "tools.demo_parts"


@dataclass(frozen=True, slots=True)
class Receiver:
    """A program that records the messages at a node."""

    node: str
    lines: Lines
    every: int  # receives one of this many lines
    options: tuple[str, ...] = ()

    def lacks(self, published: int) -> bool:
        return self.lines.look() < expected(published, self.every)


class Round:
    """A round, which publishes the first `count` lines of `text`: once, or repeatedly with a `rate`."""

    def __init__(
        self,
        processes: Processes,
        screen: Screen,
        nodes: dict[str, Node],
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
        self._base = processes.place / name
        self._answered, self._warned, self._final = map(self._lines, ("answered", "warned", "final"))
        self._subscribed = [
            Receiver(node, self._lines(f"at-{node}"), 1, (self._key,))
            for node in ("heron", "avalon", "bilbo")
        ]
        self._reader = Receiver("heron", self._lines(f"at-{READER}"), EVERY)
        self._receivers = [*self._subscribed, self._reader]
        self._programs: list[Program] = []
        self._publisher: Program | None = None
        self._began = 0.0
        self._kills_before = sum(node.kills for node in nodes.values())

    def _lines(self, what: str) -> Lines:
        return Lines(Path(f"{self._base}-{what}"))

    def begin(self) -> None:
        """Start the receivers, and the publisher as soon as all are subscribed."""
        for to in self._receivers:
            path = to.lines.path
            arguments = (f"{PARTS}.subscriber", to.node, str(path), *to.options)
            self._programs.append(self._processes.start(path.name, *arguments))
        self._wait(lambda: all(to.lines.path.exists() for to in self._receivers), READY, "nobody subscribed")
        self._began = time.monotonic()
        self._publisher = self._processes.start(
            f"{self.name}-publisher",
            f"{PARTS}.publisher",
            "bilbo",
            self._key,
            str(self._text),
            str(self._count),
            str(self._base),
            *self._rate,
        )

    def kill_and_restart(self, node: Node, rest: float) -> Kill:
        """Kill a node on the route to the master while publishing continues, and start it again.

        The node stays dead until its death is noticed, and `rest` seconds more. Return when messages that
        were published meanwhile, and a newer one, have arrived.
        """
        warnings = self._warned.look()
        node.kill()
        killed = time.monotonic()
        self._wait(
            lambda: self._warned.count > warnings, READY, f"{node.name} is dead, and no FORWARD_WARNING"
        )
        warning, note = time.monotonic() - killed, self._warned.last()
        self._watch(rest)
        node.launch()
        self._wait(node.is_ready, READY, f"{node.name} was not ready again")
        before = self._answered.count
        self._wait(
            lambda: self._answered.count > before and not self._lack(before + 1),
            READY,
            f"after the restart of {node.name} nothing arrived",
        )
        return Kill(warning, note, self._warned.count - warnings, time.monotonic() - killed)

    def flow(self, seconds: float) -> None:
        """Wait `seconds`, and at least until the first line has arrived everywhere."""
        self._watch(seconds)
        self._wait(lambda: not self._lack(1), READY, "nothing arrived")

    def finish(self, lose: int = 0) -> Outcome:
        """Stop publishing, wait for all messages, and compare.

        `lose` is the number of arrived lines that are dropped first, to prove that losses are noticed.
        """
        assert self._publisher is not None
        if self._rate:
            self._publisher.signal(signal.SIGTERM)
        self._wait(self._publisher.ended, ANSWERS, "the last word on each message was not heard")
        total = self._answered.look()
        self._await_arrival(total)
        seconds = time.monotonic() - self._began
        self._watch(QUIET)
        self._processes.end(self._programs)
        for _ in range(lose):
            lose_a_line(self._subscribed[-1].lines.path)
        outcome = self._outcome(total, seconds)
        for path in (self._answered.path, *(to.lines.path for to in self._receivers)):
            path.unlink()
        return outcome

    def _lack(self, published: int) -> bool:
        return any(to.lacks(published) for to in self._receivers)

    def _await_arrival(self, total: int) -> None:
        """Wait until everything has arrived, or arrivals stall; the comparison shows the rest."""
        last, since = -1, time.monotonic()
        while self._lack(total) and time.monotonic() - since < ARRIVAL:
            self._watch(0.05)
            now = sum(to.lines.count for to in self._receivers)
            if now != last:
                last, since = now, time.monotonic()

    def _outcome(self, total: int, seconds: float) -> Outcome:
        # A text that is published once is compared itself, not a copy.
        published, count = (self._answered.path, total) if self._rate else (self._text, self._count)
        lines_equal, lines_said = self._compare(published, count, self._subscribed)
        letters_equal, letters_said = self._compare(published, count, [self._reader])
        arrived = tuple(Lines(to.lines.path).look() for to in self._subscribed)
        kills = sum(node.kills for node in self._nodes.values()) - self._kills_before
        return Outcome(
            self.name,
            count,
            arrived,
            self._reader.lines.count,
            self._warned.look(),
            kills,
            seconds,
            lines_equal and letters_equal,
            (*lines_said, *letters_said),
        )

    def _compare(self, published: Path, count: int, receivers: list[Receiver]) -> tuple[bool, list[str]]:
        """Return whether all are equal, and the comparison's text for each receiver."""
        paths = [str(to.lines.path) for to in receivers]
        program = self._processes.run(
            f"{self.name}-compare",
            f"{PARTS}.compare",
            str(published),
            str(count),
            str(receivers[0].every),
            *paths,
        )
        said = [line.removeprefix(f"{self.name}-at-") for line in program.out.read_text().splitlines()]
        if program.code not in (0, 1) or len(said) != len(paths):
            raise Failed(f"the comparison broke down: {program.words()}")
        return program.code == 0, said

    # --- waiting -----------------------------------------------------------------------------------

    def _wait(self, condition: Callable[[], object], limit: float, failure: str) -> None:
        self._processes.until(condition, limit, failure, self._show)

    def _watch(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        self._wait(lambda: time.monotonic() >= end, seconds + 1, "time stood still")

    def _show(self) -> None:
        """Show the progress. Raises Failed if a program has failed."""
        for program in (self._publisher, *self._programs):
            if program is not None and program.code:
                raise Failed(program.words() or f"{program.name} ended with exit code {program.code}")
        self._screen.rows(self._rows())

    def _rows(self) -> list[Row]:
        """Return the rows in the order of a line's route."""
        final = self._final.look()  # read before the warnings, so never more
        warned = self._warned.look()
        first = [
            self._row("bilbo", self._answered.look(), "lines answered"),
            self._row(
                "bilbo", warned, "FORWARD_WARNING", f"{warned - final:,} wait" if warned > final else ""
            ),
            self._row("frodo", None, "passes them on"),
        ]
        heron, avalon, back = (
            self._row(to.node, to.lines.look(), "lines arrived", "" if to.node == "bilbo" else None)
            for to in self._subscribed
        )
        letters = self._row("heron", self._reader.lines.look(), f"letters to {READER}", "")
        return [*first, heron, letters, avalon, back]

    def _row(self, name: str, count: int | None, what: str, state: str | None = None) -> Row:
        """Return a row of the table.

        `state` replaces the node's state, or is empty in a second row of a node.
        """
        node = self._nodes[name]
        return Row(name, count, what, node.is_up, node.state if state is None else state)
