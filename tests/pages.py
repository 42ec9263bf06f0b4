"""What is written on a page, and how is it typed? For tests that run what README and docs show.

A ```console block holds commands after "$ "; what they print is not compared. Those that stay (`mesh up`,
`mesh sub`) run beside the others until the page ends. A ```python block is a whole program. The port 7710
becomes a free one, and nodes find each other before the page goes on, as they would for a person.
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
STORES = ROOT / "docs" / "stores.md"  # tests/mesh/store/test_store_page.py does
TESTING = ROOT / "docs" / "testing.md"  # tests/mesh/testing/test_plugin.py does
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# What a verb that stays says when it is ready.
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
    """A command that stays, in a process group of its own."""

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
        """Is it a node that runs, with multicast DNS?"""
        return self._process.poll() is None and "discovery   mdns" in self._output.read_text()

    def wait_until_met(self, others: int) -> None:
        until(lambda: self._output.read_text().count(" joined: ") >= others)

    def note_kill(self) -> None:
        """The page has typed `kill -9`: if this has ended of it, that is no failure."""
        with suppress(subprocess.TimeoutExpired):
            self.was_killed = self._process.wait(0.1) == -signal.SIGKILL

    def end(self) -> None:
        """As Ctrl-C does."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGINT)
        code = self._process.wait(LIMIT)
        # One that is just going, as `mesh down` told it, no longer listens.
        assert self.was_killed or code in (0, 130, -signal.SIGINT), (
            f"{self.command}: {code}, {self._output.read_text()}"
        )


class Terminal:
    """Where the commands of one page are typed, one after the other, in `folder`.

    `read_as`: what is typed in place of what stands on the page.
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
        """As it is typed."""
        for written, read in self._read_as.items():
            command = command.replace(written, read)
        return command

    def type(self, command: str) -> None:
        """Run it to its end, or until it is ready if it stays."""
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
    """All that stays ends with it."""
    with state_directory() as state, ExitStack() as besides:
        yield Terminal(state, folder, outputs, read_as or {}, besides)


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])
