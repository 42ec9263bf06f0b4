"""The program of the demo: shows a mesh, compares every line, and has Spark make a report.

Exit code: 0 everything that was published arrived, once and in order; 1 it did not, or something failed; 2 a
wrong argument; 130 ended by Ctrl-C.
"""

import argparse
import time
from pathlib import Path

from tools.demo_parts.figures import Outcome
from tools.demo_parts.history import History
from tools.demo_parts.journey import DOMAIN, IN_WORDS, WAY
from tools.demo_parts.nodes import READY, Node, all_nodes, sees_all
from tools.demo_parts.rounds import RATE, Round
from tools.demo_parts.screen import Screen
from tools.demo_parts.text import UnfitText, default_text, lines_of
from tools.running.processes import Failed, Interrupted, Processes

ROUND = 15.0  # most s of a round with kills
SHORTEST = 3.0  # least s of such a round
ENDING = 1.5  # s for the end of a round
REST = 1.2  # s for which a killed node stays dead
BETWEEN = 1.0  # s between two kills
REPORT = "demo-report.html"  # in the current directory


class Demo:
    """The whole demo, from the first node to the last comparison."""

    def __init__(self, processes: Processes, screen: Screen, text: Path, count: int, lose: int) -> None:
        self._processes, self._screen = processes, screen
        self._text, self._count, self._lose = text, count, lose
        self._began = time.monotonic()
        self.outcomes: list[Outcome] = []
        self.nodes: dict[str, Node] = {}

    def run(self, seconds: float | None) -> None:
        """Run for about `seconds`, or forever if that is None, but at least one round with kills.

        Raises Failed when a message is lost, doubled or out of order, or a program fails.
        """
        self._start()
        self._once()
        while not self.outcomes[1:] or seconds is None or self._left(seconds) > SHORTEST + ENDING:
            left = ROUND if seconds is None else self._left(seconds) - ENDING
            self._with_kills(min(ROUND, max(SHORTEST, left)))
        self._tell("events", "--url", "avalon", "--count", "8")

    def report(self, page: Path) -> None:
        """End all clients, and show the report of Spark."""
        self._processes.end_all_but([node.pid for node in self.nodes.values()])
        History(self._processes, self._screen, self.nodes, page).tell()

    def _left(self, seconds: float) -> float:
        return self._began + seconds - time.monotonic()

    def _start(self) -> None:
        self._screen.heading("Four nodes, each a process of its own, on this machine only")
        self._screen.say(WAY, style="bold")
        self._screen.say(IN_WORDS)
        self.nodes = {node.name: node for node in all_nodes(self._processes)}
        for node in self.nodes.values():
            self._screen.say(f"{node.name:8}{node.tcp}  pid {node.pid}")
        ends = ("bilbo", "avalon")
        self._processes.until(
            lambda: all(sees_all(self._processes, end, len(self.nodes)) for end in ends),
            READY,
            "the nodes did not find each other by multicast DNS",
        )
        self._tell("ls", "--url", "heron")
        self._tell("top", "--once", "--url", "bilbo")
        self._tell("route", "demo/text", "--domain", DOMAIN, "--url", "bilbo")

    def _tell(self, *arguments: str) -> None:
        """Run a command of `mesh`, and print it with its output."""
        self._screen.heading(f"$ mesh {' '.join(arguments)}")
        self._screen.say(self._processes.run(arguments[0], "mesh", *arguments).out.read_text())

    def _round(self, name: str, rate: int = 0) -> Round:
        return Round(self._processes, self._screen, self.nodes, name, self._text, self._count, rate)

    def _once(self) -> None:
        self._screen.heading("A text, from bilbo by frodo to heron, and from there to all")
        self._screen.say(f"{self._text}, {self._count:,} lines, a persistent message each")
        first = self._round("text")
        with self._screen.live():
            first.begin()
            outcome = first.finish(self._lose)
        self._judge(outcome)

    def _with_kills(self, seconds: float) -> None:
        number = len(self.outcomes)
        self._screen.heading(f"{RATE:,} lines a second, while frodo is killed with -9 (round {number})")
        end = time.monotonic() + seconds
        going = self._round(f"kills-{number}", RATE)
        with self._screen.live():
            going.begin()
            going.flow(BETWEEN)
            while True:
                at = time.monotonic() - self._began
                kill = going.kill_and_restart(self.nodes["frodo"], REST)
                self._screen.say(
                    f"{at:5.1f} s  kill -9 frodo. After {kill.warning:.2f} s bilbo answers FORWARD_WARNING:\n"
                    f"         {kill.note}\n"
                    f"         {kill.warnings:,} messages waited. After {kill.gap:.1f} s frodo is back, "
                    "they have arrived, and lines flow again"
                )
                if time.monotonic() + BETWEEN + kill.gap > end:
                    break
                going.flow(BETWEEN)
            outcome = going.finish()
        self._judge(outcome)

    def _judge(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        said = "\n".join(outcome.said)
        if not outcome.is_equal:
            raise Failed(f"what arrived is not what was published, in the round {outcome.name}:\n{said}")
        self._screen.say(said, style="green")

    def summarize(self) -> None:
        """Print a table of the last 20 rounds, if there are any."""
        if self.outcomes:
            self._screen.heading("Summary")
            self._screen.summary(self.outcomes[-20:])

    def tell_outcome(self, early: bool) -> None:
        """Print the table of the rounds, the sums of all rounds, and, unless `early`, the result."""
        self.summarize()
        self._screen.say(self._sum())
        if not early:
            self._screen.say(
                "Everything that was published arrived: every line, once and in order.", style="bold green"
            )

    def _sum(self) -> str:
        lines, letters, warnings, kills = (
            sum(counts)
            for counts in zip(
                *((o.published, o.letters, o.warnings, o.kills) for o in self.outcomes), strict=True
            )
        )
        return (
            f"{lines:,} lines to three subscribers, {letters:,} letters to one reader, "
            f"frodo killed {'once' if kills == 1 else f'{kills} times'}.\n"
            f"{warnings:,} messages were answered FORWARD_WARNING, and each of them OK when frodo was back."
        )


def positive(text: str) -> float:
    """Parse a number of seconds above 0 and below 1,000,000. Raises: ValueError."""
    seconds = float(text)
    if not 0 < seconds < 1e6:
        raise ValueError(text)
    return seconds


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tools/demo",
        description="Run four nodes with real traffic, kill one with SIGKILL, and compare every line.",
    )
    parser.add_argument(
        "--seconds", type=positive, metavar="N", help="end after N seconds; default: run until Ctrl-C"
    )
    parser.add_argument(
        "--file", type=Path, metavar="FILE", help="send the lines of FILE; default: a license"
    )
    parser.add_argument(
        "--no-report", action="store_true", help="make no report at the end, for which Spark is downloaded"
    )
    parser.add_argument("--lose", type=int, default=0, help=argparse.SUPPRESS)  # lost on purpose
    return parser.parse_args()


def main() -> int:
    options = arguments()
    screen = Screen()
    text = (options.file or default_text()).resolve()
    try:
        count = len(lines_of(text))
    except UnfitText as error:
        screen.fail(f"tools/demo: {error}")
        return 2
    page = None if options.no_report else Path(REPORT).resolve()
    with Processes() as processes:
        demo = Demo(processes, screen, text, count, options.lose)
        try:
            early = _run(demo, screen, processes, options.seconds)
            demo.tell_outcome(early)
            if page is not None:
                demo.report(page)
        except (Interrupted, Failed) as error:
            return _ended(screen, demo, error, processes.interrupted)
    screen.say(f"Nothing stays behind but the report: {page}" if page else "Nothing stays behind.")
    return 130 if early else 0


def _run(demo: Demo, screen: Screen, processes: Processes, seconds: float | None) -> bool:
    """Run the demo, and return whether Ctrl-C ended it. Raises Interrupted when it is too early to report."""
    try:
        demo.run(seconds)
        return False
    except Interrupted:
        if not demo.outcomes[1:]:  # too early for a report
            raise
    screen.say("Ended early, and the last round not compared. Ctrl-C once more ends immediately.")
    processes.interrupted = False
    return True


def _ended(screen: Screen, demo: Demo, error: Exception, interrupted: bool) -> int:
    """Report an early end, and return the exit code."""
    if interrupted:  # failures may be effects of the interrupt
        screen.say("Ended early. Nothing stays behind.")
        return 130
    demo.summarize()
    screen.fail(f"tools/demo: {error}")
    for node in demo.nodes.values():
        screen.fail(f"{node.name} said: {node.words() or 'nothing'}")
    return 1
