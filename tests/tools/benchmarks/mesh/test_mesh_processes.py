"""`tools/bench mesh` as processes beside real nodes."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from tests.mesh.running import LIMIT, RunningNode, running, until

pytestmark = pytest.mark.slow
BENCH = [sys.executable, "-m", "tools.benchmarks.mesh"]


@pytest.fixture(scope="module")
def a() -> Iterator[RunningNode]:
    with running("a") as a:
        yield a


@pytest.fixture(scope="module")
def b(a: RunningNode) -> Iterator[RunningNode]:
    with running("b", beside=a) as b:
        until(lambda: len(json.loads(a.mesh("ls", "--url", "a", "--json").stdout)["nodes"]) == 2)
        yield b


def bench(node: RunningNode, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*BENCH, *arguments], env=node.environ, capture_output=True, text=True, timeout=LIMIT
    )


def counter(node: RunningNode, *arguments: str) -> AbstractContextManager["subprocess.Popen[bytes]"]:
    """Run `tools/bench mesh sub` until the block ends, after its subscription."""
    return beside(node, b"subscribed to ", *BENCH, "sub", *arguments)


@contextmanager
def beside(node: RunningNode, ready: bytes, *command: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a command until the block ends.

    Its first line on stderr must begin with `ready`; the block starts after that.
    """
    process = subprocess.Popen(command, env=node.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stderr is not None
        assert process.stderr.readline().startswith(ready)
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process: "subprocess.Popen[bytes]") -> tuple[int, bytes, str]:
    out, err = process.communicate(timeout=LIMIT)
    return process.returncode, out, err.decode()


def test_bench_finds_nothing_lost(a: RunningNode, b: RunningNode) -> None:
    result = bench(a, "--url", "a", "--to", "b", "--count", "2000", "--topics", "7", "--json")
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["throughput"]["published"] == 2000
    assert (told["latency"]["lost"], told["latency"]["doubled"], told["latency"]["disordered"]) == (0, 0, 0)
    assert 0 < told["latency"]["p50"] <= told["latency"]["worst"]


def test_bench_counts_what_is_published_elsewhere_until_that_is_over(a: RunningNode, b: RunningNode) -> None:
    with counter(b, "--url", "b", "--json") as process:
        result = bench(a, "pub", "--url", "a", "--count", "3000", "--topics", "7", "--json")
        code, out, err = ended(process)
    assert (result.returncode, code, err) == (0, 0, "")
    published = json.loads(result.stdout)
    assert (published["published"], published["receivers"], published["waiting"]) == (3000, 1, 0)
    [run] = json.loads(out)["runs"]
    assert run.pop("receive_rate") > 0
    assert run == {"published": 3000, "arrived": 3000, "missed": 0, "lost": 0, "doubled": 0, "disordered": 0}


def test_bench_tells_of_its_parts_in_words(a: RunningNode, b: RunningNode) -> None:
    with counter(a, "--url", "a", "--domain", "D") as process:
        result = bench(
            a, "pub", "--url", "a", "--count", "50", "--rate", "100", "--domain", "D", "--persistent"
        )
        code, out, _ = ended(process)
    assert result.stdout.startswith("pub: 50 messages of 100 B over 1 topic, 100 a second, one at a time\n")
    assert (code, out[:26]) == (0, b"sub: 50 messages of 50\n  r")


def test_bench_that_is_interrupted_tells_what_it_has(a: RunningNode, b: RunningNode) -> None:
    with counter(a, "--url", "a", "--json") as process:
        process.send_signal(signal.SIGINT)
        code, out, err = ended(process)
    assert (code, json.loads(out)) == (0, {"runs": []})
    assert err.startswith("interrupted")
    result = bench(a, "sub", "--url", "a", "--wait", "0.3")
    assert (result.returncode, "no message arrived.  To publish:  tools/bench mesh pub" in result.stderr) == (
        124,
        True,
    )


def test_bench_pub_says_when_nobody_counts(a: RunningNode, b: RunningNode) -> None:
    result = bench(a, "pub", "--url", "a", "--count", "10", "--domain", "NOBODY")
    assert (result.returncode, "to 0 subscribers" in result.stdout) == (0, True)
    assert "tools/bench mesh sub --domain NOBODY" in result.stderr


def test_bench_gets_a_value_that_it_published_or_one_that_is_there(a: RunningNode, b: RunningNode) -> None:
    result = bench(a, "get", "--url", "b", "--count", "20", "--parallel", "3", "--json")
    told = json.loads(result.stdout)
    assert (result.returncode, told["gets"], told["empty"], told["sources"]) == (0, 20, 0, {"b": 20})
    assert 0 < told["p50"] <= told["p99"] <= told["worst"]
    a.mesh("pub", "found/x", "value", "--url", "a")
    result = bench(a, "get", "found/#", "--url", "b", "--count", "5")
    assert (result.returncode, result.stdout[:12]) == (0, "get: 5 gets,")
    assert result.stdout.endswith("  values    a 5\n")


def test_bench_gets_nothing_and_says_so(a: RunningNode, b: RunningNode) -> None:
    result = bench(a, "get", "no/such/topic", "--url", "a", "--count", "3")
    assert (result.returncode, "3 of 3 gets found nothing" in result.stderr) == (1, True)


def test_bench_asks_its_own_service_or_that_of_others(a: RunningNode, b: RunningNode) -> None:
    result = bench(a, "req", "--url", "a", "--to", "b", "--count", "200", "--parallel", "8", "--json")
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)
    assert (told["replies"], told["parallel"], told["failed"]) == (200, 8, {})
    assert 0 < told["p50"] <= told["p99"] <= told["worst"]
    service = (sys.executable, "-m", "mesh", "reply", "cat", "--exec", "cat", "--url", "b")
    with beside(b, b"serving cat", *service):
        result = bench(a, "req", "cat", "--url", "a", "--count", "3", "--size", "0")
    assert (result.returncode, result.stdout.startswith("req: 3 replies to 0 B, 16 at a time, ")) == (0, True)


def test_bench_counts_requests_without_a_reply(a: RunningNode, b: RunningNode) -> None:
    result = bench(a, "req", "nobody", "--url", "a", "--count", "3")
    assert (result.returncode, "3 requests had no reply [NO_HANDLERS]" in result.stderr) == (1, True)
