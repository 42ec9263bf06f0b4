"""The first minutes of a user with a laptop, a notebook, or three machines, word for word as on the pages."""

import ast
import asyncio
import inspect
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from tests.mesh.running import LIMIT, environment, state_directory, until
from tests.netlab import NetLab, require
from tests.pages import ROOT, blocks, commands
from tests.test_sdist import UNTRACKED

pytestmark = pytest.mark.slow  # two of them are `mark.smoke`, too
README, MACHINES = ROOT / "README.md", ROOT / "docs" / "machines.md"
INSTALLING = 10 * LIMIT  # pip, over a slow connection


class Shell:
    """A terminal with bash, in which commands are typed one after the other."""

    def __init__(self, folder: Path, environ: dict[str, str], wrap: Callable[[list[str]], list[str]]) -> None:
        self._log = folder / f"terminal-{secrets.token_hex(4)}"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                wrap(["bash"]),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environ,
                cwd=folder,
                start_new_session=True,
            )

    def said(self) -> str:
        return self._log.read_text(errors="replace")

    def type(self, command: str, ready: str = "", limit: float = LIMIT) -> str:
        """Type `command`, wait until it has ended or has printed `ready`, and return its output."""
        before, mark = len(self.said()), f"done-{secrets.token_hex(4)}"
        line = command if ready else f'{command}; echo "{mark[:4]}{mark[4:]} $?"'
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()
        until(lambda: (ready or mark) in self.said()[before:], limit)
        said = self.said()[before:]
        assert ready or said.partition(mark)[2].strip() == "0", f"{command}: {said}"
        return said.partition(mark)[0]

    def end(self) -> None:
        """Close the terminal, which ends its processes."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGINT)
        try:
            self._process.wait(LIMIT)
        finally:
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        assert "Traceback" not in self.said(), self.said()


@pytest.fixture
def context() -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield the directory and the environment of a new user."""
    with state_directory() as place:
        environ = environment(place)
        del environ["MESH_DISCOVERY__MDNS"]
        environ["MESH_NODE__CLUSTER"] = f"test-{secrets.token_hex(4)}"
        yield place, environ


def repository(place: Path) -> Path:
    """Create a git repository of this tree, for a clone."""
    path = place / "origin" / "heronry"
    shutil.copytree(ROOT, path, ignore=shutil.ignore_patterns(*UNTRACKED), symlinks=True)
    git = ["git", "-C", str(path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        subprocess.run([*git, *words], check=True, timeout=LIMIT)
    return path


def is_python(text: str) -> bool:
    return subprocess.run(["bash", "-c", f"{text} -c ''"], capture_output=True).returncode == 0


def is_sent(commands: list[str], here: Shell, second: Shell, third: Shell) -> None:
    """Check the three commands of the first page, each in a terminal of its own."""
    up, sub, pub = commands
    here.type(up, ready="Ctrl-C stops it")
    second.type(sub, ready="subscribed to")
    said = third.type(pub)
    assert re.search(r"published 1 message to sensors/kitchen/temp, 1 receiver", said), said
    until(lambda: "21.5" in second.said())


@pytest.mark.smoke
def test_the_three_commands_of_the_first_page_send_a_message(context: tuple[Path, dict[str, str]]) -> None:
    place, environ = context
    environ["PATH"] = f"{Path(sys.executable).parent}:{environ['PATH']}"
    shells = [Shell(place, environ, list) for _ in range(3)]
    try:
        is_sent(commands(README)[3:6], *shells)
    finally:
        for shell in reversed(shells):
            shell.end()


def test_a_laptop_has_its_first_message_as_the_first_page_says(context: tuple[Path, dict[str, str]]) -> None:
    place, environ = context
    clone, venv, install, up, sub, pub = commands(README)[:6]
    assert (
        clone.startswith("git clone REPOSITORY ")
        and venv.startswith("python3 -m venv")
        and is_python("python3")
    )
    origin = repository(place)
    shells = [Shell(place, environ, list) for _ in range(3)]
    here, second, third = shells
    try:
        here.type(clone.replace("REPOSITORY", str(origin)), limit=INSTALLING)
        here.type(venv, limit=INSTALLING)
        here.type(install, limit=INSTALLING)
        activate = f"cd heronry && {venv.partition(' && ')[2]}"
        for other in (second, third):
            other.type(activate)
        is_sent([up, sub, pub], *shells)
        program = blocks("python", [README])[0].text
        (place / "first.py").write_text(program)
        assert "arm/angle 90" in third.type("python ../first.py")
    finally:
        for shell in reversed(shells):
            shell.end()


@pytest.mark.smoke
def test_a_notebook_runs_the_program_of_the_first_page_in_its_own_loop(
    context: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notebook's cell is compiled so that `await` may be outside functions, and awaited in its loop."""
    _, environ = context
    monkeypatch.setenv("MESH_STATE_DIR", environ["MESH_STATE_DIR"])
    cell = blocks("python", [README])[0].text.replace("asyncio.run(main())", "await main()")
    assert "`await main()`" in README.read_text() and cell.endswith("\nawait main()\n")
    code = compile(cell, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)

    async def kernel() -> None:
        result = eval(code, {"__name__": "__main__"})
        assert inspect.isawaitable(result)
        await result

    with redirect_stdout(StringIO()) as said:
        asyncio.run(kernel())
    assert said.getvalue() == "arm/angle 90\n"


def test_three_machines_meet_as_the_page_says(context: tuple[Path, dict[str, str]]) -> None:
    """Each machine has its own network, user directory and name. `mesh join` reads the token from stdin."""
    require()
    place, environ = context
    del environ["MESH_NODE__CLUSTER"]  # the lab is isolated anyway
    [page] = blocks("text", [MACHINES])
    typed = dict.fromkeys(re.findall(r"^(?:here|there)\$ +(mesh \w+)", page.text, re.MULTILINE))
    assert list(typed) == ["mesh init", "mesh up", "mesh join"]
    environ["PATH"] = f"{Path(sys.executable).parent}:{environ['PATH']}"
    with NetLab(3) as lab:
        shells = [_machine(lab, host, place, environ) for host in lab.hosts]
        here, *there = shells
        try:
            said = here.type("mesh init")
            [token] = re.findall(r"^\s*(mesh\S*:\S+|\S{60,})\s*$", said, re.MULTILINE)[:1]
            here.type("mesh up", ready="Ctrl-C stops it")
            for shell in there:
                shell.type(f"mesh join <<< {token}")
                shell.type("mesh up", ready="Ctrl-C stops it")
            asking = _machine(lab, 3, place, environ)
            shells.append(asking)
            until(lambda: all(f"joined: m{host}" in there[1].said() for host in (1, 2)))
            rows = json.loads(asking.type("mesh ls --json"))["nodes"]
            assert {row["name"]: row["state"] for row in rows} == {
                "m1": "alive",
                "m2": "alive",
                "m3": "alive",
            }
            assert "m2" in asking.type("mesh info --url m2")
        finally:
            for shell in reversed(shells):
                shell.end()


def _machine(lab: NetLab, host: int, place: Path, environ: dict[str, str]) -> Shell:
    folder = place / f"m{host}"
    folder.mkdir(exist_ok=True)
    own = {"MESH_STATE_DIR": str(folder), "XDG_CONFIG_HOME": str(folder), "MESH_NODE__ID": f"m{host}"}
    return Shell(folder, {**environ, **own}, lambda command: lab.command(host, command))
