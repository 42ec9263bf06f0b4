"""Commands and programs of documentation pages, for tests that run README and docs.

In a ```console block, commands follow "$ "; their output is not compared. Commands that keep running
(`mesh up`, `mesh sub`) stay in the background until the page ends. A ```python block is a whole program.
The port 7710 becomes a free one, and nodes find each other before the next command runs.
"""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tests.mesh.running import LIMIT, environment, state_directory, until

ROOT = Path(__file__).parents[1]
SPARK = ROOT / "docs" / "spark.md"  # tests/spark/test_spark_page_runs.py runs it
STORES = ROOT / "docs" / "stores.md"  # tests/mesh/store/test_store_page.py runs it
TESTING = ROOT / "docs" / "testing.md"  # tests/mesh/testing/test_plugin.py runs it
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# The output that shows that a command which keeps running is ready, by verb.
READY = {
    "up": "Ctrl-C stops it",
    "sub": "subscribed to",
    "reply": "serving",
    "tools/bench mesh sub": "subscribed to",
}


class Block(NamedTuple):
    """A fenced block of a page, and the line where it begins."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(language: str, pages: list[Path] = PAGES) -> list[Block]:
    found = []
    for page in pages:
        text = page.read_text()
        for match in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            found.append(Block(page, text.count("\n", 0, match.start()) + 1, match[1], match[2]))
    return [block for block in found if block.language == language]


def commands(page: Path) -> list[str]:
    lines = [line for block in blocks("console", [page]) for line in block.text.splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


class Beside:
    """A background command of a page, in a process group of its own."""

    def __init__(self, command: str, environ: dict[str, str], folder: Path, output: Path) -> None:
        self.command = command
        self.was_killed = False
        self._output = output
        with output.open("wb") as file:
            self._process = subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                cwd=folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_until_ready(self, word: str) -> None:
        until(lambda: word in self._output.read_text() or self._process.poll() is not None)
        assert self._process.poll() is None, f"{self.command}: {self._output.read_text()}"

    @property
    def finds_others(self) -> bool:
        """Whether the command is a running node with multicast DNS."""
        return self._process.poll() is None and "discovery   mdns" in self._output.read_text()

    def wait_until_met(self, others: int) -> None:
        until(lambda: self._output.read_text().count(" joined: ") >= others)

    def note_kill(self) -> None:
        """Note whether `kill -9` on the page ended this command, which is then no failure."""
        with suppress(subprocess.TimeoutExpired):
            self.was_killed = self._process.wait(0.1) == -signal.SIGKILL

    def end(self) -> None:
        """End the command as Ctrl-C does, and check its exit code."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGINT)
        code = self._process.wait(LIMIT)
        # A node that `mesh down` is stopping may no longer handle SIGINT.
        assert self.was_killed or code in (0, 130, -signal.SIGINT), (
            f"{self.command}: {code}, {self._output.read_text()}"
        )


class Terminal:
    """A shell in `folder` that runs the commands of one page, one after the other.

    `read_as` maps text on the page to the text that runs instead.
    """

    def __init__(
        self, state: Path, folder: Path, outputs: Path, read_as: Mapping[str, str], besides: ExitStack
    ) -> None:
        self.environ = environment(state)
        self.environ["PATH"] = f"{Path(sys.executable).parent}:{self.environ['PATH']}"
        del self.environ["MESH_DISCOVERY__MDNS"]
        self._folder, self._outputs, self._besides = folder, outputs, besides
        self._read_as = {"7710": free_port(), **read_as}
        self._nodes: list[Beside] = []
        self._all: list[Beside] = []
        self._typed = 0

    def here(self, command: str) -> str:
        """Return the command after the replacements of `read_as`."""
        for written, read in self._read_as.items():
            command = command.replace(written, read)
        return command

    def type(self, command: str) -> None:
        """Run a command to its end, or until it is ready if it keeps running."""
        verb = re.match(r"mesh (\w+)|(tools/bench mesh sub)", command)
        if verb and verb[verb.lastindex or 0] in READY:
            self._stay(command, READY[verb[verb.lastindex or 0]])
            return
        result = subprocess.run(
            ["bash", "-c", self.here(command)],
            cwd=self._folder,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=2 * LIMIT,
        )
        assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"
        if command.startswith("kill -9"):
            for beside in self._all:
                beside.note_kill()
            assert any(beside.was_killed for beside in self._all), f"{command}: nobody was killed"

    def _stay(self, command: str, word: str) -> None:
        self._typed += 1
        output = self._outputs / f"beside-{self._typed}"
        beside = Beside(self.here(command), self.environ, self._folder, output)
        self._besides.callback(beside.end)
        self._all.append(beside)
        beside.wait_until_ready(word)
        if beside.finds_others:
            beside.wait_until_met(sum(node.finds_others for node in self._nodes))
            self._nodes.append(beside)


@contextmanager
def terminal(
    outputs: Path, folder: Path = ROOT, read_as: Mapping[str, str] | None = None
) -> Iterator[Terminal]:
    """Open a terminal for one page. Background commands end with the block."""
    with state_directory() as state, ExitStack() as besides:
        yield Terminal(state, folder, outputs, read_as or {}, besides)


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])
