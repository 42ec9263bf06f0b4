"""`mesh why`: causes first, in readable text without injected control characters."""

from __future__ import annotations

import json

import pytest

from mesh.cli.main import main
from mesh.errors import BadKey
from mesh.wire.replies import Reason
from tests.mesh.cli.fake import Given

Capture = pytest.CaptureFixture[str]
CAUSE = Reason(
    node="heron", code="NEAR_KEY", rank="cause", says="news\x1b[1m is subscribed to", hint="news\x1b?"
)
STATE = Reason(node="crane", code="SUBSCRIBED", rank="state", says="wanted", hint="no hint of a state")


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["topic", "k"], ("topic", "k", None)),
        (["topic", "k", "--domain", "D"], ("topic", "k", "D")),
        (["node", "heron"], ("node", "heron", None)),
        (["message", "x:1"], ("message", "x:1", None)),
        (["address", "calc/add"], ("address", "calc/add", None)),
        (["client", "joe"], ("client", "joe", None)),
    ],
)
def test_each_kind_is_asked(
    given: Given, capsys: Capture, words: list[str], asked: tuple[str, str, str]
) -> None:
    client = given(why=[CAUSE, STATE])
    assert main(["why", *words]) == 1
    kind, text, domain = asked
    assert client.asked == [("why", (kind, text), {"domain": domain})]
    said = capsys.readouterr()
    first, second = said.out.splitlines()[1:]
    assert first.split()[:2] == ["heron", "!"] and second.split() == ["crane", "wanted"]
    assert "news" in said.err and "no hint" not in said.err and "\x1b" not in said.out + said.err


def test_without_a_cause_the_exit_code_is_0(given: Given, capsys: Capture) -> None:
    given(why=[STATE])
    assert main(["why", "node", "crane"]) == 0 and capsys.readouterr().err == ""


def test_json_has_all_of_each_reason(given: Given, capsys: Capture) -> None:
    given(why=[CAUSE, STATE])
    assert main(["why", "topic", "k", "--json"]) == 1
    first, _ = json.loads(capsys.readouterr().out)
    assert (first["code"], first["rank"], first["room"], first["about"]) == ("NEAR_KEY", "cause", "", [])


def test_what_cannot_be_asked_is_an_error(given: Given, capsys: Capture) -> None:
    given(why=BadKey("a bad key"))
    assert main(["why", "topic", "k"]) == 2 and "a bad key" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["topic"], ["planet", "x"], ["topic", "a", "b"]])
def test_what_is_typed_wrongly_is_refused(given: Given, capsys: Capture, words: list[str]) -> None:
    given()
    assert main(["why", *words]) == 2


@pytest.mark.parametrize(
    "words",
    [
        ["topic", "k\udcff"],
        ["topic", "k", "--domain", "D\udcff"],
        ["client", "ann\udcff"],
        ["site", "NYC\udcff"],
        ["queue", "q\udcff"],
    ],
)
def test_what_has_no_utf_8_is_refused_and_nobody_is_asked(
    given: Given, capsys: Capture, words: list[str]
) -> None:
    fake = given(why=[], call={})
    assert main(["why", *words]) == 2 and not fake.asked
    assert "surrogates" in capsys.readouterr().err
