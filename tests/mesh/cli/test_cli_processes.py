"""Commands as processes beside real nodes: bytes in and out, and signals."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.mesh.running import LIMIT, RunningNode, running, until

pytestmark = pytest.mark.slow


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
def subscriber(
    node: RunningNode, *arguments: str, verb: tuple[str, ...] = ("sub",)
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run `mesh sub` until the block ends, after its subscription."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mesh", *verb, *arguments],
        env=node.environ,
        cwd=node.state,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        assert process.stderr.readline().startswith(b"subscribed to ")
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process: "subprocess.Popen[bytes]") -> tuple[int, bytes, str]:
    out, err = process.communicate(timeout=LIMIT)
    return process.returncode, out, err.decode()


@pytest.mark.smoke
def test_lines_of_any_bytes_arrive_in_order_at_another_node_as_they_were(
    a: RunningNode, b: RunningNode
) -> None:
    content = (
        b"".join(b"%d \xff\x00 line\r\n" % number for number in range(5000)) + b"\n\nlast, without newline"
    )
    with subscriber(b, "lines", "--raw", "--count", "5003", "--url", "b") as process:
        result = a.mesh("pub", "lines", "--url", "a", content=content)
        code, out, err = ended(process)
    assert (code, out, err) == (0, content + b"\n", "")
    assert (result.returncode, result.stdout) == (0, "")
    assert result.stderr.startswith("published 5,003 lines to lines, 1 receiver, ")


def test_lines_of_a_file_can_be_published(a: RunningNode, b: RunningNode) -> None:
    (a.state / "lines.txt").write_text("one\ntwo\n")
    result = a.mesh("pub", "file", "--file", "lines.txt", "--url", "a", "--persistent")
    assert result.stderr.startswith("published 2 lines to file, 0 receivers, ")
    assert "mesh sub file" in result.stderr
    assert b.mesh("get", "file", "--url", "b", "--raw").stdout == "two\n"


def test_a_line_that_is_too_long_is_named_and_those_before_it_are_published(
    a: RunningNode, b: RunningNode
) -> None:
    content = b"first\n" + bytes(2 << 20) + b"\nthird\n"
    result = a.mesh("pub", "long", "--url", "a", content=content)
    assert result.returncode == 2
    assert result.stderr.startswith("mesh: line 2: The content for long has 2097152 bytes")
    assert a.mesh("get", "long", "--url", "a", "--raw").stdout == "first\n"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_sub_quietly_and_its_node_forgets_it_at_once(
    number: signal.Signals, code: int, a: RunningNode, b: RunningNode
) -> None:
    with subscriber(a, "signal", "--url", "a") as process:
        process.send_signal(number)
        returned, out, err = ended(process)
    assert (returned, out, err.strip()) == (code, b"", "")
    until(lambda: json.loads(a.mesh("info", "--url", "a", "--json").stdout)["metrics"]["subscriptions"] == 0)


def test_a_reader_that_goes_away_ends_sub_quietly(a: RunningNode, b: RunningNode) -> None:
    with subscriber(a, "pipe", "--url", "a") as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        a.mesh("pub", "pipe", "x", "--url", "a")
        process.wait(LIMIT)
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_a_topic_is_erased_and_a_subscriber_is_told(a: RunningNode, b: RunningNode) -> None:
    a.mesh("pub", "gone/x", "1", "--url", "a")
    with subscriber(b, "gone/#", "--count", "2", "--url", "b") as process:
        result = a.mesh("erase", "gone/x", "--url", "a")
        assert ended(process)[:2] == (0, b"gone/x  1  (retained)\ngone/x  (erased)\n")
    assert (result.returncode, result.stdout) == (0, "gone/x\n")
    assert a.mesh("get", "gone/x", "--url", "a").returncode == 1
    result = a.mesh("erase", "gone/x", "--url", "a")
    assert (result.returncode, result.stdout) == (1, "")
