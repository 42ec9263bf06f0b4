"""Commands as services: `mesh reply` answers requests, over two nodes."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.mesh.running import LIMIT, RunningNode, running, until

pytestmark = pytest.mark.slow
Process = subprocess.Popen[str]
PATIENT = ("--timeout", "600")


@pytest.fixture(scope="module")
def a() -> Iterator[RunningNode]:
    with running("a") as a:
        yield a


@pytest.fixture(scope="module")
def b(a: RunningNode) -> Iterator[RunningNode]:
    with running("b", beside=a) as b:
        until(lambda: len(json.loads(a.mesh("ls", "--url", "a", "--json").stdout)["nodes"]) == 2)
        yield b


@contextmanager
def serving(node: RunningNode, address: str, command: str, *options: str) -> Iterator[Process]:
    """Run `mesh reply` until the block ends, after its registration."""
    arguments = ["reply", address, "--exec", command, *options, "--url", node.name]
    process = subprocess.Popen(
        [sys.executable, "-m", "mesh", *arguments],
        env=node.environ,
        cwd=node.state,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        assert process.stderr.readline() == f"serving {address}\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_what_one_asks_another_replies(a: RunningNode, b: RunningNode) -> None:
    with serving(a, "text/upper", "tr a-z A-Z") as one, serving(b, "text/upper", "tr a-z A-Z"):
        result = b.mesh("req", "text/upper", "-", *PATIENT, "--url", "b", content="so\nbe it")
        assert (result.returncode, result.stdout, result.stderr) == (0, "SO\nBE IT", "")
        result = b.mesh("req", "text/upper", "x", "--all", *PATIENT, "--url", "b")
        assert (result.returncode, len(result.stdout.splitlines())) == (0, 2)
        result = a.mesh("ls", "--addresses", "text/#", "--json", "--url", "a")
        [row] = json.loads(result.stdout)["addresses"]
        assert {at["node"]: at["consumers"] for at in row["nodes"]} == {"a": 1, "b": 1}
        result = b.mesh("route", "--to", "text/upper", "--url", "b")
        assert (result.returncode, "2 servers at 2 nodes" in result.stderr) == (0, True)
        one.send_signal(signal.SIGINT)
        assert (one.wait(LIMIT), one.stderr and one.stderr.read()) == (0, "")
        until(lambda: "1 server at 1 node" in b.mesh("route", "--to", "text/upper", "--url", "b").stderr)
    until(lambda: b.mesh("req", "text/upper", "x", "--url", "b").returncode == 2)
    assert "[NO_HANDLERS]" in b.mesh("req", "text/upper", "x", "--url", "b").stderr


def test_a_command_that_fails_is_a_request_that_fails(a: RunningNode, b: RunningNode) -> None:
    with serving(a, "bad", "echo no such user >&2; exit 3", "--shell"):
        result = b.mesh("req", "bad", *PATIENT, "--url", "b")
    assert (result.returncode, result.stdout, result.stderr) == (1, "", "mesh: no such user [EXIT_3]\n")
    with serving(a, "slow", "sleep 600", "--timeout", "0.2"):
        assert b.mesh("req", "slow", "--url", "b", "--timeout", "0.001").returncode == 124
        # The command of the first request is killed before that of this one, so that neither remains.
        assert "[TIMED_OUT]" in b.mesh("req", "slow", "--url", "b", *PATIENT).stderr


def test_what_runs_at_ctrl_c_is_replied_to_yet_unless_that_is_typed_again(
    a: RunningNode, b: RunningNode, tmp_path: Path
) -> None:
    begun, may_end = tmp_path / "begun", tmp_path / "may_end"
    waits = f"while [ ! -e {may_end} ]; do sleep 0.05; done"
    with serving(a, "s", f"touch {begun}; {waits}; echo done", "--shell") as server:
        asking = asked(b, "s")
        until(begun.exists)
        server.send_signal(signal.SIGINT)
        assert server.stderr is not None
        assert server.stderr.readline() == "waiting for 1 command; Ctrl-C again kills\n"
        may_end.touch()
        assert asking.communicate(timeout=LIMIT)[0] == "done\n"
        assert server.wait(LIMIT) == 0
    begun.unlink()
    with serving(a, "s", f"touch {begun}; sleep 600", "--shell") as server:
        asking = asked(b, "s")
        until(begun.exists)
        server.send_signal(signal.SIGINT)
        assert server.stderr is not None
        assert server.stderr.readline() == "waiting for 1 command; Ctrl-C again kills\n"
        server.send_signal(signal.SIGINT)
        assert server.wait(LIMIT) == 0
        assert "[HANDLER_LOST]" in asking.communicate(timeout=LIMIT)[1]


def asked(node: RunningNode, address: str) -> Process:
    command = [sys.executable, "-m", "mesh", "req", address, *PATIENT, "--url", node.name]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=node.environ, cwd=node.state, stdout=pipe, stderr=pipe, text=True)


def test_a_message_that_wants_no_reply_is_given_to_the_command(a: RunningNode, b: RunningNode) -> None:
    with serving(a, "log", "cat >>log.txt", "--shell"):
        assert b.mesh("send", "log", "one", "--url", "b").returncode == 0
        until(lambda: (a.state / "log.txt").exists() and (a.state / "log.txt").read_text() == "one")


def test_a_group_shares_what_is_published(a: RunningNode, b: RunningNode, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    with member(a, one), member(b, two):
        content = "".join(f"{n}\n" for n in range(200))
        assert a.mesh("pub", "jobs/x", "--url", "a", content=content).returncode == 0
        until(lambda: len((one.read_text() + two.read_text()).split()) >= 200)
    assert sorted(map(int, (one.read_text() + two.read_text()).split())) == list(range(200))
    assert one.read_text() and two.read_text(), "each has its share"


@contextmanager
def member(node: RunningNode, output: Path) -> Iterator[None]:
    """Run `mesh sub --group` until the block ends, after its subscription."""
    command = ["sub", "jobs/#", "--group", "workers", "--raw", "--url", node.name]
    with output.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "mesh", *command],
            env=node.environ,
            cwd=node.state,
            stdout=file,
            stderr=subprocess.PIPE,
            text=True,
        )
    try:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("subscribed to ")
        yield
    finally:
        process.kill()
        process.communicate()
