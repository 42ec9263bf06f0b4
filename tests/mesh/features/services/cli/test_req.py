"""Requests and services on the command line, without a node: output and exit codes."""

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from mesh.cli.main import main
from mesh.client.reading import WHATEVER
from mesh.errors import HandlerLost, MeshError, MeshTimeout, NoHandlers, RequestFailed
from mesh.features.services.client.gathering import GatheredMessage
from tests.mesh.cli.fake import Given
from tests.mesh.envelopes import envelope

SERVER = "/node/heron/client/ann/session/1"


def reply(content: bytes = b"HELLO", error: MeshError | None = None) -> GatheredMessage[Any]:
    e = replace(envelope("x", [content]), keys=("",), count=1, sender=SERVER)
    return GatheredMessage(e, 0, "calc/add", content, WHATEVER, UNSET, error)


class Answers:
    """The result of a `gather`: the expected number of replies, and the replies."""

    def __init__(self, expected: int | None, *replies: Any) -> None:
        self.expected, self._replies = expected, replies

    def __enter__(self) -> "Answers":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        return iter(self._replies)


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
        (Answers(0), [], 2, "no client serves who [NO_HANDLERS]"),
        (Answers(None), [], 1, "0 of the servers replied in time"),
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
