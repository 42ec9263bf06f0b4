"""Do the verbs that ask a node do what they say, in a terminal's way and in a script's?"""

import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from mesh.cli.ls import HEADER
from tests.mesh.running import LIMIT, RunningNode, environment, run_mesh, running, state_directory, until

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


def test_no_line_is_no_message(a: RunningNode, b: RunningNode) -> None:
    result = a.mesh("pub", "nothing", "--url", "a", content=b"")
    assert (result.returncode, result.stderr[:35]) == (0, "published 0 lines to nothing, 0 rec")
    assert a.mesh("get", "nothing", "--url", "a").returncode == 1


def test_a_line_that_is_too_long_is_named_and_those_before_it_are_published(
    a: RunningNode, b: RunningNode
) -> None:
    content = b"first\n" + bytes(2 << 20) + b"\nthird\n"
    result = a.mesh("pub", "long", "--url", "a", content=content)
    assert result.returncode == 2
    assert result.stderr.startswith("mesh: line 2: long: content of 2097152 bytes")
    assert a.mesh("get", "long", "--url", "a", "--raw").stdout == "first\n"


def test_a_message_is_told_whole_as_json(a: RunningNode, b: RunningNode) -> None:
    with subscriber(b, "told/+", "--json", "--count", "2", "--url", "b") as process:
        a.mesh("pub", "told/x", "grün", "--header", "A=1=2", "--header", "a=", "--url", "a", "--persistent")
        a.mesh("pub", "told/y", "--url", "a", content=b"\xff\n")
        code, out, _ = ended(process)
    first, second = (json.loads(line) for line in out.splitlines())
    assert code == 0
    assert (first["key"], first["content"], first["base64"]) == ("told/x", "grün", False)
    assert first["headers"] == [["A", "1=2"], ["a", ""]]
    assert (first["persistent"], first["route"]) == (True, ["a", "b"])
    assert (base64.b64decode(second["content"]), second["base64"]) == (b"\xff", True)


def test_sub_begins_with_the_last_values_unless_told_otherwise(a: RunningNode, b: RunningNode) -> None:
    a.mesh("pub", "initial/x", "old", "--url", "a")
    with subscriber(b, "initial/#", "--count", "1", "--url", "b") as process:
        assert ended(process)[:2] == (0, b"initial/x  old\n")
    with subscriber(b, "initial/#", "--count", "1", "--no-initial", "--url", "b") as process:
        a.mesh("pub", "initial/x", "new", "--url", "a")
        assert ended(process)[:2] == (0, b"initial/x  new\n")


def test_sub_ends_when_its_time_is_over(a: RunningNode, b: RunningNode) -> None:
    result = a.mesh("sub", "silence", "--wait", "0.2", "--url", "a")
    assert (result.returncode, result.stdout) == (124, "")
    assert result.stderr == "subscribed to silence\nmesh: 0.2 s are over. [TIMEOUT]\n"


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


def test_get_prints_what_matches_and_says_by_its_exit_code_whether_there_was_any(
    a: RunningNode, b: RunningNode
) -> None:
    a.mesh("pub", "get/x", "1", "--url", "a")
    b.mesh("pub", "get/y", "2", "--url", "b")
    for name in ("a", "b"):
        result = a.mesh("get", "get/#", "--url", name)
        assert (result.returncode, sorted(result.stdout.splitlines())) == (0, ["get/x  1", "get/y  2"])
    result = a.mesh("get", "get/z", "--url", "a")
    assert (result.returncode, result.stdout, "'get/z'" in result.stderr) == (1, "", True)
    assert json.loads(a.mesh("get", "get/z", "--url", "a", "--json").stdout) == []
    assert json.loads(a.mesh("get", "get/x", "--url", "a", "--json").stdout)[0]["content"] == "1"


def test_a_domain_keeps_topics_apart(a: RunningNode, b: RunningNode) -> None:
    a.mesh("pub", "apart", "inside", "--domain", "d", "--url", "a")
    assert a.mesh("get", "apart", "--domain", "d", "--url", "a", "--raw").stdout == "inside\n"


def test_ls_shows_each_node_and_marks_the_one_that_was_asked(a: RunningNode, b: RunningNode) -> None:
    result = a.mesh("ls", "--url", "b")
    header, first, second, _, scope = result.stdout.splitlines()
    assert header.split() == list(HEADER)
    assert first.startswith("b *") and second.startswith("a  ")
    assert b.tcp.removeprefix("tcp://") in first and a.tcp.removeprefix("tcp://") in second
    assert scope.startswith("default-scope mesh: ")
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_ls_tells_a_lone_node_how_to_get_company() -> None:
    with running("lone") as lone:
        told = lone.mesh("ls").stdout
        assert "mesh up --id NAME" in told and f"mesh peer add {lone.tcp}" in told and "mesh init" in told


def test_info_tells_the_node_and_its_counters(a: RunningNode, b: RunningNode) -> None:
    told = json.loads(a.mesh("info", "--url", "a", "--json").stdout)
    assert (told["name"], told["pid"]) == ("a", a.pid)
    assert told["metrics"]["published"] >= 0
    text = a.mesh("info", "--url", "a").stdout
    assert all(word in text for word in ("uptime", "lag_p99", "published"))


def test_several_nodes_are_named_and_one_is_asked_for(a: RunningNode, b: RunningNode) -> None:
    result = a.mesh("ls")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(
        "mesh: 2 nodes run here: a, b. [MANY_NODES]\n      Choose one: --url NAME"
    )
    chosen = run_mesh("ls", "--json", environ={**a.environ, "MESH_URL": "b"})
    assert json.loads(chosen.stdout)["nodes"][0]["name"] == "b"


def test_what_is_sent_reaches_an_inbox_that_is_open_and_one_that_opens_later(
    a: RunningNode, b: RunningNode
) -> None:
    joe = "/node/b/client/joe/session/1"
    result = a.mesh("send", joe, "now", "--url", "a")
    assert (result.returncode, "[NOT_CONNECTED]" in result.stderr) == (2, True)
    assert "--force-queuing" in result.stderr and "force_queuing" not in result.stderr
    result = a.mesh("send", joe, "one", "--force-queuing", "--client", "ann", "--session", "7", "--url", "a")
    assert (result.returncode, result.stderr) == (0, f"sent to {joe}: queued for it\n")
    options = ("--client", "joe", "--session", "1", "--url", "b")
    told = b.mesh("inbox", "--count", "1", *options)
    assert (told.returncode, told.stdout) == (0, "/node/a/client/ann/session/7  one\n")
    assert told.stderr == f"listening for {joe}\n"
    process = subprocess.Popen(
        [sys.executable, "-m", "mesh", "inbox", "--raw", "--count", "3", *options],
        env=b.environ,
        cwd=b.state,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None and process.stderr.readline().startswith(b"listening for ")
    result = a.mesh("send", joe, "--url", "a", content=b"1\n\xff\n3\n")
    assert result.stderr == f"sent 3 lines to {joe}: taken by 1 session\n"
    assert ended(process)[:2] == (0, b"1\n\xff\n3\n")
    result = b.mesh("inbox", "--wait", "0.3", *options)
    assert (result.returncode, result.stdout) == (124, "")


def test_an_unknown_destination_is_an_error_and_what_waits_for_it_is_listed(
    a: RunningNode, b: RunningNode
) -> None:
    result = a.mesh("send", "/node/nowhere/client/joe", "x", "--url", "a")
    assert (result.returncode, "[UNKNOWN_NODE]" in result.stderr) == (2, True)
    result = a.mesh("send", "/node/nowhere/client/joe", "x", "--force-queuing", "--url", "a")
    assert result.returncode == 0
    assert result.stderr.startswith("sent to /node/nowhere/client/joe: FORWARD_WARNING: waits at a for ")
    assert "nobody knows: 1 message (" in a.mesh("ls", "--url", "a").stdout
    result = a.mesh("route", "--to", "/node/nowhere/client/joe", "--url", "a")
    assert (result.returncode, "nowhere" in result.stdout) == (1, True)


def test_a_topic_is_erased_and_a_subscriber_is_told(a: RunningNode, b: RunningNode) -> None:
    a.mesh("pub", "gone/x", "1", "--url", "a")
    with subscriber(b, "gone/#", "--count", "2", "--url", "b") as process:
        result = a.mesh("erase", "gone/x", "--url", "a")
        assert ended(process)[:2] == (0, b"gone/x  1\ngone/x  (erased)\n")
    assert (result.returncode, result.stdout) == (0, "gone/x\n")
    assert a.mesh("get", "gone/x", "--url", "a").returncode == 1
    result = a.mesh("erase", "gone/x", "--url", "a")
    assert (result.returncode, result.stdout) == (1, "")


def test_what_is_published_while_the_master_is_away_waits_and_every_verb_says_so() -> None:
    rules = '[[nodes.frodo.master]]\ndomains = ["NEWS"]\n[nodes.bilbo]\n'
    with state_directory() as folder:
        (folder / "mesh.toml").write_text(rules)
        options = ("--config", str(folder / "mesh.toml"))
        with running("frodo", options=options) as frodo:
            with running("bilbo", beside=frodo, options=options) as bilbo:
                route = ("route", "k", "--domain", "NEWS", "--url", "bilbo")
                until(lambda: bilbo.mesh(*route).returncode == 0)
                first, last = bilbo.mesh(*route).stdout.splitlines()
                assert first.split()[:4] == ["bilbo", "forward", "to", "frodo"]
                assert last.split()[:2] == ["frodo", "here"]
                frodo.stop()
                until(lambda: bilbo.mesh(*route).returncode == 1)
                assert "wait for frodo" in bilbo.mesh(*route).stdout
                result = bilbo.mesh("pub", "k", "--domain", "NEWS", "--url", "bilbo", content=b"1\n2\n3\n")
                assert (result.returncode, result.stdout) == (0, "")
                assert result.stderr.startswith("published 3 lines to k, 3 of them wait: waits at bilbo for ")
                header, *rows = bilbo.mesh("ls", "--url", "bilbo").stdout.splitlines()
                assert header.split()[-1] == "TAIL-BACK"
                assert next(row for row in rows if row.startswith("frodo")).split()[-3] == "3,"
                frodo.start()
                until(
                    lambda: (
                        frodo.mesh("get", "k", "--domain", "NEWS", "--url", "frodo", "--raw").stdout == "3\n"
                    )
                )
                until(lambda: "TAIL-BACK" not in bilbo.mesh("ls", "--url", "bilbo").stdout)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["ls", "--url", "nobody"],
            "mesh: no node named 'nobody' runs here, or is known to those that do: a, b. [NO_NODE]",
        ),
        (["pub", "a/#", "x"], "[BAD_KEY]"),
        (["sub", "a/#/b"], "[BAD_QUERY]"),
        (["sub", ""], "[BAD_KEY]"),
        (["get", ""], "[BAD_KEY]"),
        (["erase", ""], "[BAD_KEY]"),
        (["pub", "k", "x", "--header", "novalue"], "--header 'novalue' is not NAME=VALUE"),
        (["pub", "k", "x", "--file", "/dev/null"], "either CONTENT or --file"),
        (["pub", "k", "--file", "/nowhere"], "No such file"),
        (["sub", "k", "--count", "0"], "--count"),
    ],
)
def test_wrong_input_is_a_clear_error_on_stderr(
    arguments: list[str], said: str, a: RunningNode, b: RunningNode
) -> None:
    result = run_mesh(
        *arguments, environ={**a.environ, "MESH_URL": "a"} if "--url" not in arguments else a.environ
    )
    assert (result.returncode, result.stdout) == (2, "")
    assert said in result.stderr
    assert "Traceback" not in result.stderr


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


def test_bench_tells_of_its_parts_in_words_and_publishes_at_a_rate(a: RunningNode, b: RunningNode) -> None:
    with subscriber(a, "--url", "a", "--domain", "D", verb=BENCH_SUB) as process:
        result = a.mesh(
            "bench", "pub", "--url", "a", "--count", "50", "--rate", "100", "--domain", "D", "--persistent"
        )
        code, out, _ = ended(process)
    assert result.stdout.startswith("pub: 50 messages of 100 B over 1 topic, 100 a second, one at a time\n")
    assert (code, out[:26]) == (0, b"sub: 50 messages of 50\n  r")
    rate = int(result.stdout.split("published")[1].split("/s")[0])
    assert 10 < rate <= 110, result.stdout


def test_bench_that_is_interrupted_tells_what_it_has(a: RunningNode, b: RunningNode) -> None:
    with subscriber(a, "--url", "a", "--json", verb=BENCH_SUB) as process:
        process.send_signal(signal.SIGINT)
        code, out, err = ended(process)
    assert (code, json.loads(out)) == (0, {"runs": []})
    assert err.startswith("interrupted")
    result = a.mesh("bench", "sub", "--url", "a", "--wait", "0.3")
    assert (result.returncode, "nothing came.  To publish:  mesh bench pub" in result.stderr) == (124, True)


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


def test_pub_goes_on_when_its_node_was_killed_and_started_again() -> None:
    count = 20_000
    with running("a") as a, running("b", beside=a) as b:
        reader, writer = os.pipe()
        with subscriber(b, "k", "--raw", "--count", str(count), "--url", "b") as process:
            publishing = subprocess.Popen(
                [sys.executable, "-m", "mesh", "pub", "k", "--persistent", "--url", "a"],
                env=a.environ,
                stdin=reader,
                stderr=subprocess.PIPE,
                text=True,
            )
            os.close(reader)
            with open(writer, "wb") as lines:
                lines.writelines(b"%d\n" % number for number in range(count // 2))
                lines.flush()
                until(lambda: a.mesh("get", "k", "--url", "a").returncode == 0)
                a.kill()
                a.start()
                lines.writelines(b"%d\n" % number for number in range(count // 2, count))
            _, said = publishing.communicate(timeout=LIMIT)
            code, out, _ = ended(process)
        assert publishing.returncode == 0, said
        assert said.splitlines()[:2] == [
            "the node is away (disconnected); waiting for it",
            "the node is back",
        ]
        assert f"published {count:,} lines to k, 1 receiver" in said
        assert (code, out) == (0, b"".join(b"%d\n" % number for number in range(count)))


def test_a_client_without_an_address_waits_for_its_node_and_strays_to_no_other() -> None:
    with (
        running("a") as a,
        subscriber(a, "home", "--raw", "--count", "1") as process,
        running("b", beside=a) as b,
    ):
        a.kill()
        b.mesh("pub", "elsewhere", "x", "--url", "b")
        a.start()
        until(lambda: a.mesh("pub", "home", "found", "--url", "a") and process.poll() is not None)
        code, out, err = ended(process)
        assert (code, out) == (0, b"found\n")
        assert "the node is back" in err


def test_without_a_node_every_verb_says_what_to_type() -> None:
    with state_directory() as state:
        for arguments in (
            ["ls"],
            ["info"],
            ["pub", "k", "x"],
            ["sub", "k"],
            ["get", "k"],
            ["bench"],
            ["erase", "k"],
            ["send", "client/joe", "x"],
            ["inbox"],
            ["route", "k"],
        ):
            result = run_mesh(*arguments, environ=environment(state))
            assert (result.returncode, result.stdout) == (2, "")
            assert result.stderr == (
                "mesh: no node runs here, for this user. [NO_NODE]\n"
                "      Start one with `mesh up`, give --url ADDRESS, "
                "or have one in your program: mesh.node().\n"
            )
