"""Commands as processes beside real nodes: bytes in and out, signals, and `mesh bench`."""

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
    """A `mesh sub` that every node knows of."""
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


def test_bench_finds_nothing_lost(a: RunningNode, b: RunningNode) -> None:
    result = a.mesh("bench", "--url", "a", "--to", "b", "--count", "2000", "--topics", "7", "--json")
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["throughput"]["published"] == 2000
    assert (told["latency"]["lost"], told["latency"]["doubled"], told["latency"]["disordered"]) == (0, 0, 0)
    assert 0 < told["latency"]["p50"] <= told["latency"]["worst"]


BENCH_SUB = ("bench", "sub")


def test_bench_counts_what_is_published_elsewhere_until_that_is_over(a: RunningNode, b: RunningNode) -> None:
    with subscriber(b, "--url", "b", "--json", verb=BENCH_SUB) as process:
        result = a.mesh("bench", "pub", "--url", "a", "--count", "3000", "--topics", "7", "--json")
        code, out, err = ended(process)
    assert (result.returncode, code, err) == (0, 0, "")
    published = json.loads(result.stdout)
    assert (published["published"], published["receivers"], published["waiting"]) == (3000, 1, 0)
    [run] = json.loads(out)["runs"]
    assert run.pop("receive_rate") > 0
    assert run == {"published": 3000, "arrived": 3000, "missed": 0, "lost": 0, "doubled": 0, "disordered": 0}


def test_bench_tells_of_its_parts_in_words(a: RunningNode, b: RunningNode) -> None:
    with subscriber(a, "--url", "a", "--domain", "D", verb=BENCH_SUB) as process:
        result = a.mesh(
            "bench", "pub", "--url", "a", "--count", "50", "--rate", "100", "--domain", "D", "--persistent"
        )
        code, out, _ = ended(process)
    assert result.stdout.startswith("pub: 50 messages of 100 B over 1 topic, 100 a second, one at a time\n")
    assert (code, out[:26]) == (0, b"sub: 50 messages of 50\n  r")


def test_bench_that_is_interrupted_tells_what_it_has(a: RunningNode, b: RunningNode) -> None:
    with subscriber(a, "--url", "a", "--json", verb=BENCH_SUB) as process:
        process.send_signal(signal.SIGINT)
        code, out, err = ended(process)
    assert (code, json.loads(out)) == (0, {"runs": []})
    assert err.startswith("interrupted")
    result = a.mesh("bench", "sub", "--url", "a", "--wait", "0.3")
    assert (result.returncode, "no message arrived.  To publish:  mesh bench pub" in result.stderr) == (
        124,
        True,
    )


def test_bench_pub_says_when_nobody_counts(a: RunningNode, b: RunningNode) -> None:
    result = a.mesh("bench", "pub", "--url", "a", "--count", "10", "--domain", "NOBODY")
    assert (result.returncode, "to 0 subscribers" in result.stdout) == (0, True)
    assert "mesh bench sub --domain NOBODY" in result.stderr


def test_bench_gets_a_value_that_it_published_or_one_that_is_there(a: RunningNode, b: RunningNode) -> None:
    result = a.mesh("bench", "get", "--url", "b", "--count", "20", "--parallel", "3", "--json")
    told = json.loads(result.stdout)
    assert (result.returncode, told["gets"], told["empty"], told["sources"]) == (0, 20, 0, {"b": 20})
    assert 0 < told["p50"] <= told["p99"] <= told["worst"]
    a.mesh("pub", "found/x", "value", "--url", "a")
    result = a.mesh("bench", "get", "found/#", "--url", "b", "--count", "5")
    assert (result.returncode, result.stdout[:12]) == (0, "get: 5 gets,")
    assert result.stdout.endswith("  values    a 5\n")


def test_bench_gets_nothing_and_says_so(a: RunningNode, b: RunningNode) -> None:
    result = a.mesh("bench", "get", "no/such/topic", "--url", "a", "--count", "3")
    assert (result.returncode, "3 of 3 gets found nothing" in result.stderr) == (1, True)
