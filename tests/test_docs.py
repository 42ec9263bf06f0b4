"""Do the commands and programs in README and docs run as they stand there?

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
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.mesh.running import LIMIT, RunningNode, environment, running, state_directory, until

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ELSEWHERE = {
    "tools/demo --seconds 20": "tests/test_demo.py runs it",
    "tools/check": "it runs this test",
}
READY = {"up": "Ctrl-C stops it", "sub": "subscribed to"}  # what a verb that stays says when it is


class Block(NamedTuple):
    """A fenced block of a page, and the line where it begins."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(language: str) -> list[Block]:
    found = []
    for page in PAGES:
        text = page.read_text()
        for match in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            found.append(Block(page, text.count("\n", 0, match.start()) + 1, match[1], match[2]))
    return [block for block in found if block.language == language]


def commands(page: Path) -> list[str]:
    lines = [line for block in blocks("console") if block.page == page for line in block.text.splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


class Beside:
    """A command that stays, in a process group of its own."""

    def __init__(self, command: str, environ: dict[str, str], output: Path) -> None:
        self.command = command
        self._output = output
        with output.open("wb") as file:
            self._process = subprocess.Popen(
                ["bash", "-c", f"exec {command}"], cwd=ROOT, env=environ, stdin=subprocess.DEVNULL,
                stdout=file, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def wait_until_ready(self, word: str) -> None:
        until(lambda: word in self._output.read_text() or self._process.poll() is not None)
        assert self._process.poll() is None, f"{self.command}: {self._output.read_text()}"

    @property
    def finds_others(self) -> bool:
        """Is it a node that runs, with multicast DNS?"""
        return self._process.poll() is None and "discovery   mdns" in self._output.read_text()

    def wait_until_met(self, others: int) -> None:
        until(lambda: self._output.read_text().count(" joined: ") >= others)

    def end(self) -> None:
        """As Ctrl-C does."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGINT)
        code = self._process.wait(LIMIT)
        # One that is just going, as `mesh down` told it, no longer listens.
        assert code in (0, 130, -signal.SIGINT), f"{self.command}: {code}, {self._output.read_text()}"


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@pytest.mark.whole
@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.name)
def test_the_commands_of_a_page_run_one_after_the_other(page: Path, tmp_path: Path) -> None:
    port = free_port()
    with state_directory() as state, ExitStack() as besides:
        environ = environment(state)
        environ["PATH"] = f"{Path(sys.executable).parent}:{environ['PATH']}"
        del environ["MESH_DISCOVERY__MDNS"]
        nodes: list[Beside] = []
        for number, command in enumerate(commands(page)):
            if command in ELSEWHERE:
                continue
            verb = re.match(r"mesh (\w+)", command)
            here = command.replace("7710", port)
            if verb and verb[1] in READY:
                beside = Beside(here, environ, tmp_path / str(number))
                besides.callback(beside.end)
                beside.wait_until_ready(READY[verb[1]])
                if beside.finds_others:
                    beside.wait_until_met(sum(node.finds_others for node in nodes))
                    nodes.append(beside)
            else:
                result = subprocess.run(
                    ["bash", "-c", here], cwd=ROOT, env=environ, capture_output=True, text=True,
                    timeout=2 * LIMIT,
                )  # fmt: skip
                assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running("heron") as node:
        yield node


@pytest.mark.whole
@pytest.mark.parametrize("block", blocks("python"), ids=str)
def test_a_program_on_a_page_runs(block: Block, node: RunningNode) -> None:
    result = subprocess.run(
        [sys.executable, "-c", block.text], env=node.environ, capture_output=True, text=True, timeout=LIMIT
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout


@pytest.mark.whole
@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_an_example_runs(example: Path, node: RunningNode) -> None:
    result = subprocess.run(
        [sys.executable, example], env=node.environ, capture_output=True, text=True, timeout=LIMIT
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_what_a_page_points_to_is_there(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_what_runs_elsewhere_stands_on_a_page_and_can_be_run() -> None:
    written = {command for page in PAGES for command in commands(page)}
    assert written >= ELSEWHERE.keys()
    assert all(os.access(ROOT / command.split()[0], os.X_OK) for command in ELSEWHERE)


def test_every_room_of_the_house_stands_in_the_drawing_of_its_floors() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [floors] = [contract["layers"] for contract in contracts if contract["id"] == "floors"]
    rooms = {room for floor in floors for room in re.findall(r"\w+", floor)} - {"__main__"}
    [drawing] = re.findall(r"```mermaid\nflowchart(.*?)```", (ROOT / "docs" / "design.md").read_text(), re.S)
    drawn = {word for bold in re.findall(r"<b>(.*?)</b>", drawing) for word in bold.split(", ")}
    assert drawn == rooms | {"discovery", "balancers"}
