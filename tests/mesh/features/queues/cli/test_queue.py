"""`mesh queue`: its output, and the calls that it makes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from unittest.mock import ANY

import pytest
from msgspec import convert

from mesh.cli.main import main
from mesh.errors import NoQueue
from mesh.wire.replies import QueueRow
from tests.mesh.cli.fake import Given
from tests.mesh.running import LIMIT, RunningNode, running

Capture = pytest.CaptureFixture[str]
ROW = QueueRow(name="jobs\x1b", terms={"nodes": [], "max_count": 5, "expiry": None}, ready=1200, oldest=90.0)


class FakeQueue:
    """A queue whose methods return `answers`. It records the calls."""

    def __init__(self, **answers: Any) -> None:
        self.asked: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self._answers = answers

    def __getattr__(self, name: str) -> Any:
        answer = self._answers[name]

        def method(*arguments: Any, **options: Any) -> Any:
            self.asked.append((name, arguments, options))
            if isinstance(answer, Exception):
                raise answer
            return answer

        return method


def test_create_says_only_what_was_typed(given: Given, capsys: Capture) -> None:
    q = FakeQueue(declare=ROW)
    given(queue=q)
    typed = ["--max-count", "5", "--dead-letter", "queue/x", "--exclusive", "--node", "a", "--node", "b"]
    assert main(["queue", "create", "my jobs", *typed, "--redistribution", "0"]) == 0
    terms = {
        "max_count": 5,
        "dead_letter": "queue/x",
        "exclusive": True,
        "nodes": ("a", "b"),
        "redistribution": 0.0,
    }
    assert q.asked == [("declare", (), terms)]
    assert "mesh queue put 'my jobs' CONTENT" in capsys.readouterr().err
    assert main(["queue", "create", "jobs", "--json"]) == 0
    assert q.asked[1] == ("declare", (), {}) and json.loads(capsys.readouterr().out)["ready"] == 1200


@pytest.mark.parametrize(
    "typed",
    [
        ["--max-count", "0"],
        ["--max-count", "nan"],
        ["--when-full", "no"],
        ["--expiry", "-1"],
        ["--scope", "x"],
    ],
)
def test_what_cannot_be_typed_is_refused(given: Given, typed: list[str]) -> None:
    fake = given(queue=FakeQueue())
    assert main(["queue", "create", "jobs", *typed]) == 2 and not fake.asked


def test_ls_asks_page_by_page_and_shows_no_escape_codes(given: Given, capsys: Capture) -> None:
    pages = {
        "": {"queues": [{"name": "a", "ready": 1}], "more": "a"},
        "a": {"queues": [{"name": "jobs\x1b[1m", "ready": 1200, "bytes": 5528}], "more": ""},
    }
    given(call=lambda verb, after: pages[after])
    assert main(["queue", "ls"]) == 0
    out = capsys.readouterr().out
    assert "1,200" in out and "5.5 KB" in out and "\x1b" not in out and out.startswith("NAME")
    assert main(["queue", "ls", "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == ["a", "jobs\x1b[1m"]
    given(call={"queues": [], "more": ""})
    assert main(["queue", "ls"]) == 1 and "mesh queue create" in capsys.readouterr().err
    given(call={"queues": [{"name": "a"}], "more": "a"})
    assert main(["queue", "ls"]) == 0, "one that goes round in circles ends"


def test_info_shows_figures_and_terms(given: Given, capsys: Capture) -> None:
    given(queue=FakeQueue(info=ROW))
    assert main(["queue", "info", "jobs"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    lines = {row[0]: " ".join(row[1:]) for row in rows if row}
    assert (lines["ready"], lines["oldest"]) == ("1,200", "90 s")
    assert (lines["max-count"], lines["expiry"], lines["nodes"]) == ("5", "-", "-")
    given(queue=FakeQueue(info=NoQueue("there is none.")))
    assert main(["queue", "info", "jobs"]) == 2 and "[NO_QUEUE]" in capsys.readouterr().err


PARTS: dict[str, Any] = {
    "name": "jobs", "ready": 3, "consumers": 1,
    "parts": [{"node": "heron", "ready": 1}, {"node": "egret\x1b[1m", "ready": 2, "consumers": 1}],
}  # fmt: skip


def test_ls_shows_all_parts_together_or_each_of_them(given: Given, capsys: Capture) -> None:
    given(call={"queues": [PARTS], "missing": ["crane\x1b[1m"]})
    assert main(["queue", "ls"]) == 0
    said = capsys.readouterr()
    header, row = (line.split() for line in said.out.splitlines())
    assert header[:2] == ["NAME", "READY"] and row[:2] == ["jobs", "3"]
    assert "crane" in said.err and "\x1b" not in said.err
    assert main(["queue", "ls", "--parts"]) == 0
    said = capsys.readouterr()
    rows = [line.split() for line in said.out.splitlines()]
    assert [row[:3] for row in rows] == [
        ["NAME", "NODE", "READY"],
        *([r["name"], ANY, ANY] for r in [PARTS] * 2),
    ]
    assert [row[2] for row in rows[1:]] == ["1", "2"] and "\x1b" not in said.out
    assert main(["queue", "ls", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["parts"][1]["ready"] == 2


def test_info_says_what_is_where(given: Given, capsys: Capture) -> None:
    away = {"node": "stork\x1b", "ready": 4, "as_of": 300.0}
    said_of = {**PARTS, "parts": [*PARTS["parts"], away], "missing": ["crane"], "away": ["stork"], "going": 7}
    row = convert(said_of, QueueRow)
    given(queue=FakeQueue(info=row))
    assert main(["queue", "info", "jobs"]) == 0
    said = capsys.readouterr()
    assert "heron: 1 ready, 0 out, 0 consumers" in said.out and "crane" in said.err
    assert "stork\\x1b, 5 m ago: 4 ready, 0 out" in said.out
    assert "incomplete, without stork, unreachable, with messages in queues" in said.err
    assert [line.split() for line in said.out.splitlines() if line.startswith("moving")] == [["moving", "7"]]


def test_why_says_where_messages_wait_and_for_what(given: Given, capsys: Capture) -> None:
    rows = [{"node": "heron", "messages": 1200, "why": "nobody takes\x1b[1m"}]
    asked: list[tuple[str, str]] = []

    def call(verb: str, name: str) -> Any:
        asked.append((verb, name))
        return {"rows": rows, "missing": ["crane"]} if name == "jobs" else {}

    given(call=call)
    assert main(["why", "queue", "jobs"]) == 0
    said = capsys.readouterr()
    assert "1,200" in said.out and "nobody takes" in said.out and "\x1b" not in said.out + said.err
    assert "crane" in said.err
    assert main(["why", "queue", "jobs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == [{**rows[0], "is_cause": False}]
    rows[0] |= {"is_cause": True}
    assert main(["why", "queue", "jobs"]) == 1 and "1,200     !" in capsys.readouterr().out
    assert main(["why", "queue", "idle"]) == 1 and "idle is empty" in capsys.readouterr().err
    assert asked == [("queue_why", "jobs")] * 3 + [("queue_why", "idle")]


def test_put_says_all_that_was_typed(given: Given, capsys: Capture) -> None:
    q = FakeQueue(put_many=2)
    given(queue=q)
    typed = [
        "--priority",
        "9",
        "--delay",
        "2",
        "--group",
        "g",
        "--key",
        "k",
        "--transient",
        "--header",
        "a=b",
    ]
    assert main(["queue", "put", "jobs", "one", "two", "--expiry", "5", *typed]) == 0
    [(_, (contents,), how)] = q.asked
    assert contents == [b"one", b"two"] and list(how.pop("headers").items()) == [("a", "b")]
    assert how == {
        "persistent": False, "priority": 9, "delay": 2.0, "group": "g", "key": "k", "expiry": 5.0,
    }  # fmt: skip
    assert capsys.readouterr().err == "put 2 messages into jobs\n"
    assert main(["queue", "put", "jobs", "x", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"put": 2} and q.asked[1][2]["persistent"] is True
    assert main(["queue", "put", "jobs", "x", "--priority", "10"]) == 2
    assert main(["queue", "put", "jobs", "x", "--file", __file__]) == 2
    assert len(q.asked) == 2


def test_purge_and_rm_say_what_they_did(given: Given, capsys: Capture) -> None:
    q = FakeQueue(delete=None)
    given(queue=q, call={"purged": 1})
    assert main(["queue", "purge", "jobs"]) == 0 and capsys.readouterr().err == "purged 1 message of jobs\n"
    assert main(["queue", "purge", "jobs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"purged": 1, "missing": [], "away": []}
    given(queue=q, call={"purged": 2, "missing": ["b\x1b", "a"], "away": ["c"]})
    assert main(["queue", "purge", "jobs"]) == 0
    assert capsys.readouterr().err == (
        "purged 2 messages of jobs\nincomplete, without a, b\\x1b, which did not answer\n"
        "incomplete, without c, unreachable, with messages in queues\n"
    )
    assert main(["queue", "rm", "jobs"]) == 0 and main(["queue", "rm", "jobs", "--force", "--json"]) == 0
    assert [options for name, _, options in q.asked if name == "delete"] == [
        {"if_unused": True},
        {"if_unused": False},
    ]


def test_move_says_how_many_are_there_now(given: Given, capsys: Capture) -> None:
    q = FakeQueue(move=1)
    given(queue=q)
    assert main(["queue", "move", "jobs", "--to", "b"]) == 0
    assert capsys.readouterr().err == "b accepted 1 message of jobs\n"
    assert main(["queue", "move", "jobs", "--to", "b", "--count", "5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"moved": 1}
    assert [(args, options) for _, args, options in q.asked] == [
        (("b",), {"count": None}),
        (("b",), {"count": 5}),
    ]
    for wrong in (["jobs"], ["jobs", "--to", "b", "--count", "0"], ["jobs", "--to", "b", "--count", "x"]):
        assert main(["queue", "move", *wrong]) == 2
    assert len(q.asked) == 2


# --- with a node --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def a() -> Iterator[RunningNode]:
    with running("a") as a:
        yield a


@pytest.mark.slow
def test_what_is_put_is_taken_once_and_what_is_not_printed_goes_back(a: RunningNode) -> None:
    assert a.mesh("queue", "create", "jobs").returncode == 0
    lines = b"".join(b"%d\n" % i for i in range(700)) + b"\xff\x00\n"
    assert a.mesh("queue", "put", "jobs", content=lines).stderr == "put 701 messages into jobs\n"
    peeked = a.mesh("queue", "peek", "jobs", "--count", "2", "--json")
    assert [json.loads(line)["content"] for line in peeked.stdout.splitlines()] == ["0", "1"]
    taken = a.mesh("queue", "take", "jobs", "--count", "3")
    assert (taken.returncode, taken.stdout, taken.stderr) == (0, "0\n1\n2\n", "consuming jobs\n")
    told = json.loads(a.mesh("queue", "info", "jobs", "--json").stdout)
    assert (told["ready"], told["out"], told["acked"], told["redelivered"]) == (698, 0, 3, 0)
    process = subprocess.Popen(
        [sys.executable, "-m", "mesh", "queue", "take", "jobs", "--json"],
        env=a.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        seen = [json.loads(process.stdout.readline()) for _ in range(698)]
        assert [each["content"] for each in seen[:-1]] == [str(i) for i in range(3, 700)]
        assert {(each["attempt"], each["redelivered"]) for each in seen} == {(1, False)}
        assert seen[-1]["base64"]
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT) == 130
    finally:
        process.kill()
        process.communicate()
    told = json.loads(a.mesh("queue", "info", "jobs", "--json").stdout)
    assert (told["ready"], told["out"], told["acked"], told["consumers"]) == (0, 0, 701, 0)
    assert a.mesh("queue", "take", "jobs", "--timeout", "0.1").returncode == 1
    a.mesh("queue", "put", "jobs", "x", "--key", "k", "--priority", "9", "--group", "g")
    assert a.mesh("queue", "peek", "jobs").stdout == "k  x\n"
    assert a.mesh("queue", "take", "jobs", "--selector", "priority < 9", "--timeout", "0.1").returncode == 1
    assert (
        a.mesh("queue", "take", "jobs", "--raw", "--selector", "key == 'k'", "--count", "1").stdout == "x\n"
    )
    assert a.mesh("queue", "rm", "jobs").returncode == 0
    for verb in ("info", "take", "peek", "purge", "rm"):
        result = a.mesh("queue", verb, "jobs")
        assert result.returncode == 2 and "[NO_QUEUE]" in result.stderr, verb
