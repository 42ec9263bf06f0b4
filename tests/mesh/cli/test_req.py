"""Asking and serving from the command line: what is shown, and which exit code says so? Without a node."""

import asyncio
import io
import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from mesh.cli.main import main
from mesh.cli.reply import words
from mesh.cli.running import CommandEnd, run
from mesh.client.gathering import GatheredMessage
from mesh.client.reading import WHATEVER
from mesh.errors import HandlerLost, MeshError, MeshTimeout, NoHandlers, RequestFailed
from tests.mesh.cli.fake import Given
from tests.mesh.envelopes import envelope

SERVER = "/node/heron/client/ann/session/1"


def reply(content: bytes = b"HELLO", error: MeshError | None = None) -> GatheredMessage[Any]:
    e = replace(envelope("x", [content]), keys=("",), count=1, sender=SERVER)
    return GatheredMessage(e, 0, "calc/add", content, WHATEVER, UNSET, error)


class Answers:
    """What comes of a `gather`."""

    def __init__(self, expected: int | None, *replies: Any) -> None:
        self.expected, self._replies = expected, replies

    def __enter__(self) -> "Answers":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        return iter(self._replies)


# --- req ----------------------------------------------------------------------------------------------


def test_req_hands_on_all_that_was_given_and_prints_the_reply_byte_for_byte(
    given: Given, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    fake = given(request=reply(b"\x1b[1m\n\xff"))
    options = ["--timeout", "2", "--retry-lost", "--local", "--header", "a=b", "--client", "joe"]
    assert main(["req", "calc/add", "[1]", *options]) == 0
    assert capsysbinary.readouterr() == (b"\x1b[1m\n\xff", b"")
    [(_, said, asked)] = fake.asked
    assert said == ("calc/add", b"[1]")
    assert list(asked.pop("headers").items()) == [("a", "b")]
    assert asked == {"timeout": 2.0, "retry_lost": True, "local_only": True}
    assert fake.opened["client"] == "joe"


def test_req_takes_its_content_from_stdin_or_none(given: Given, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = given(request=reply())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\nb\xff")))
    assert main(["req", "x", "-"]) == main(["req", "x"]) == 0
    assert [arguments[1] for _, arguments, _ in fake.asked] == [b"a\nb\xff", b""]


def test_req_harms_no_terminal(
    given: Given, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    given(request=reply(b"a\x1b[1m\nb"))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert main(["req", "x"]) == 0
    assert capsysbinary.readouterr().out == b"a\\x1b[1m\nb\n"


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (RequestFailed("there is no user 5", code="NO_SUCH_USER"), 1, "[NO_SUCH_USER]"),
        (NoHandlers("nobody serves 'x'."), 2, "[NO_HANDLERS]"),
        (HandlerLost("it is gone."), 2, "[HANDLER_LOST]"),
        (MeshTimeout("no reply within 5 s."), 124, "[TIMEOUT]"),
    ],
)
def test_req_says_by_its_exit_code_why_there_is_no_reply(
    given: Given, capsys: pytest.CaptureFixture[str], error: MeshError, code: int, said: str
) -> None:
    given(request=error)
    assert main(["req", "x"]) == code
    told = capsys.readouterr()
    assert (told.out, said in told.err) == ("", True)


def test_req_all_prints_a_line_for_each(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    fake = given(gather=Answers(2, reply(b"one"), reply(b"t\nwo")))
    assert main(["req", "who", "?", "--all", "--count", "5"]) == 0
    assert capsys.readouterr() == (f"{SERVER}  one\n{SERVER}  t\\nwo\n", "")
    assert fake.asked[0][2]["most"] == 5


@pytest.mark.parametrize(
    ("answers", "options", "code", "said"),
    [
        (Answers(0), [], 2, "nobody serves who [NO_HANDLERS]"),
        (Answers(None), [], 1, "0 of those who serve it replied in time"),
        (Answers(3, reply()), [], 1, "1 of 3 replied in time"),
        (Answers(3, reply()), ["--count", "1"], 0, ""),
        (Answers(1, reply(b"", RequestFailed("no.", code="BUSY"))), [], 1, f"{SERVER}: no. [BUSY]"),
    ],
)
def test_req_all_says_by_its_exit_code_whether_all_have_replied(
    given: Given,
    capsys: pytest.CaptureFixture[str],
    answers: Answers,
    options: list[str],
    code: int,
    said: str,
) -> None:
    given(gather=answers)
    assert main(["req", "who", "--all", *options]) == code
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("seconds", ["nan", "inf", "1e300", "0"])
def test_a_command_has_a_time_that_ends(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reply", "x", "--exec", "cat", "--timeout", seconds]) == 2
    assert "timeout" in capsys.readouterr().err


def test_req_as_json_tells_who_says_what(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    given(request=reply(), gather=Answers(2, reply(), reply(b"", RequestFailed("no.", code="BUSY"))))
    assert main(["req", "x", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["content"], told["sender"]) == ("HELLO", SERVER)
    assert main(["req", "x", "--json", "--all"]) == 1
    one, two = map(json.loads, capsys.readouterr().out.splitlines())
    assert (one["error"], two["error"]) == (None, {"code": "BUSY", "text": "no."})


@pytest.mark.parametrize("options", [["--count", "2"], ["--all", "--retry-lost"], ["--timeout", "0"]])
def test_req_refuses_what_makes_no_sense(options: list[str]) -> None:
    assert main(["req", "x", *options]) == 2


# --- ls --addresses, and route --to ---------------------------------------------------------------------

SERVED = {
    "addresses": [
        {"address": "calc/add", "nodes": [{"node": "a", "uuid": "00", "consumers": 2}]},
        {
            "address": "who",
            "nodes": [
                {"node": "a", "uuid": "00", "consumers": 1},
                {"node": "b", "uuid": "01", "consumers": 3},
            ],
        },
    ],
    "missing": [],
}


def test_ls_lists_addresses_with_each_node(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    given(call=SERVED)
    assert main(["ls", "--addresses"]) == 0
    said = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert said == [["ADDRESS", "NODE", "SERVERS"], ["calc/add", "a", "2"], ["who", "a", "1"], ["b", "3"]]


@pytest.mark.parametrize(("wanted", "found"), [("who", ["who"]), ("calc/#", ["calc/add"]), ("calc", [])])
def test_ls_lists_an_address_or_those_that_match(
    given: Given, capsys: pytest.CaptureFixture[str], wanted: str, found: list[str]
) -> None:
    given(call=SERVED)
    assert main(["ls", "--addresses", wanted, "--json"]) == (0 if found else 1)
    assert [row["address"] for row in json.loads(capsys.readouterr().out)["addresses"]] == found


def test_ls_says_when_nothing_is_served_or_not_all_have_answered(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    given(call={"addresses": [], "missing": ["b", "b"]})
    assert main(["ls", "--addresses"]) == 0
    said = capsys.readouterr().err
    assert "which did not answer: b\n" in said and "mesh reply ADDRESS" in said
    assert main(["ls", "calc/add"]) == 2


@pytest.mark.parametrize("pattern", ["", "a/#/b", "#/+#"])
def test_ls_refuses_a_pattern_that_is_none(
    given: Given, capsys: pytest.CaptureFixture[str], pattern: str
) -> None:
    given(call=SERVED)
    assert main(["ls", "--addresses", pattern]) == 2
    assert "pattern" in capsys.readouterr().err


def server(node: str, **more: Any) -> dict[str, Any]:
    return {
        "node": node, "uuid": "00", "consumers": 1, "is_here": False, "load": None, "outstanding": 0,
        "latency": 0.0, "weight": 1.0, **more,
    }  # fmt: skip


def test_route_tells_to_whom_a_message_to_an_address_would_go(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [server("b", load=0.5, outstanding=7, latency=0.012), server("a", is_here=True, consumers=2)]
    told = {"servers": rows, "strategy": "RoundRobin", "is_ordered": True, "text": ""}
    fake = given(call=told)
    assert main(["route", "--to", "calc/add"]) == 0
    said = capsys.readouterr()
    lines = [" ".join(line.split()) for line in said.out.splitlines()]
    assert lines[1:] == ["next b 1 50 % 7 12 ms 1", "2. a * 2 - 0 - 1"]
    assert said.err == "3 servers at 2 nodes; RoundRobin chooses, in this order\n"
    assert fake.asked == [("call", ("servers",), {"address": "calc/add"})]


def test_route_to_an_address_of_the_own_site_is_the_way_of_one_here(given: Given) -> None:
    told = {"servers": [server("a")], "strategy": "RoundRobin", "is_ordered": True, "text": ""}
    fake = given(call=lambda verb, **_: {"sites": {"site": "LON"}, "servers": told}[verb])
    assert main(["route", "--to", "/site/LON/calc/add"]) == 0
    assert fake.asked[-1] == ("call", ("servers",), {"address": "calc/add"})


def test_route_says_when_nobody_serves_an_address(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    given(call={"servers": [], "strategy": "RoundRobin", "is_ordered": True, "text": "nobody serves 'x'."})
    assert main(["route", "--to", "x"]) == 1
    assert "nobody serves 'x'. [NO_HANDLERS]" in capsys.readouterr().err
    assert main(["route", "--to", "x", "--from", "b"]) == main(["route", "--to", "queue/x"]) == 2


# --- reply ----------------------------------------------------------------------------------------------


def ran(*command: str, content: bytes = b"", limit: float = 20.0) -> CommandEnd:
    return asyncio.run(run(command, content, limit, dict(os.environ)))


def python(program: str, content: bytes = b"", limit: float = 20.0) -> CommandEnd:
    return ran(sys.executable, "-c", program, content=content, limit=limit)


def test_a_command_is_given_the_content_and_says_the_reply() -> None:
    content = bytes(range(256)) * 4096
    assert ran("cat", content=content) == CommandEnd(content)
    assert ran("true", content=content) == CommandEnd(), "it need not read"


def test_a_command_that_fails_says_why() -> None:
    assert ran("sh", "-c", "echo no >&2; exit 3") == CommandEnd(code="EXIT_3", text="no")
    assert ran("sh", "-c", "kill -9 $$").code == "SIGNAL_9"
    assert ran("/nowhere").code == "CANNOT_RUN"
    long = python("import sys; sys.stderr.write('x' * 100_000 + 'end'); sys.exit(1)")
    assert (len(long.text), long.text[-3:]) == (1000, "end")


def test_a_command_that_takes_too_long_is_killed_with_all_that_it_has_started() -> None:
    start = time.monotonic()
    assert ran("sh", "-c", "sleep 60 | sleep 60", limit=0.3).code == "TIMED_OUT"
    assert time.monotonic() - start < 20


def test_a_command_that_writes_without_end_is_killed() -> None:
    assert ran("yes").code == "TOO_LARGE"


def test_words_are_no_shell_commands_unless_they_shall_be() -> None:
    assert words("cat 'a b' $HOME | rm", shell=False) == ["cat", "a b", "$HOME", "|", "rm"]
    assert words("cat | wc", shell=True) == ["/bin/sh", "-c", "cat | wc"]


@pytest.mark.parametrize(
    ("typed", "said"), [("", "is empty"), ("'", "cannot be read"), ("nosuch x", "'nosuch'")]
)
def test_what_cannot_be_run_is_said_before_it_is_served(
    typed: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reply", "x", "--exec", typed]) == 2
    assert said in capsys.readouterr().err
