"""`mesh pub`: each line is a message, those that wait are reported, and a text of rules is one message."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from mesh.cli.main import main
from mesh.values import Published
from tests.mesh.cli.fake import Given

Capture = pytest.CaptureFixture[str]
WAITS = "waits at bilbo for frodo (polling)"


def typed(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    """Put a text on stdin."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))


def ok(matched: int) -> Published:
    return Published("OK", "id", matched)


class Posted:
    """A receipt."""

    def result(self) -> Published:
        return ok(2)


@pytest.mark.parametrize(
    ("waiting", "said"),
    [
        ((3, WAITS), f"published 3 lines to k, 3 of them wait: {WAITS}"),
        ((1, WAITS), f"published 3 lines to k, 1 of them wait: {WAITS}"),
        ((0, WAITS), "published 3 lines to k, 2 receivers, "),
    ],
)
def test_pub_says_how_many_wait_and_for_whom(
    given: Given, capsys: Capture, monkeypatch: pytest.MonkeyPatch, waiting: tuple[int, str], said: str
) -> None:
    typed(monkeypatch, b"1\n2\n3\n")
    given(post=lambda *_, **__: Posted(), flush=None, waiting=waiting)
    assert main(["pub", "k"]) == 0
    assert capsys.readouterr().err.startswith(said)


def test_mesh_pub_takes_the_whole_of_a_text_of_rules(given: Given, tmp_path: Path, capsys: Capture) -> None:
    client = given(publish=Published("OK", "", 0, "sam did not answer in time"), connected=None)
    file = tmp_path / "heron.xml"
    file.write_text("<clusternode id='heron'>\n</clusternode>\n")
    assert main(["pub", "__sys__cluster.node.master[heron]", "--file", str(file)]) == 0
    assert main(["pub", "__sys__cluster.node.master[heron]", "<clusternode id='heron'/>"]) == 0
    said = capsys.readouterr().err
    assert (
        "published the rules of heron; the other nodes follow" in said
        and "sam did not answer in time" in said
    )
    assert main(["pub", "--domain", "A", "__sys__cluster.node.master[heron]", "<clusternode/>"]) == 0
    options = [given for verb, _, given in client.asked if verb == "publish"]
    assert options[0]["domain"] is None and options[2]["domain"] == "A", "the client refuses it"
    texts = [arguments[1] for verb, arguments, _ in client.asked[:-1] if verb == "publish"]
    assert texts == [file.read_bytes(), b"<clusternode id='heron'/>"]


def test_no_line_is_no_message(given: Given, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, b"")
    fake = given(flush=None, waiting=(0, ""))
    assert main(["pub", "k"]) == 0
    assert [name for name, _, _ in fake.asked] == ["flush", "waiting"]
    assert capsys.readouterr().err.startswith("published 0 lines to k, 0 receivers, ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["x", "--header", "novalue"], "--header 'novalue' is not NAME=VALUE"),
        (["x", "--file", "/dev/null"], "either CONTENT or --file"),
        (["--file", "/nowhere"], "No such file"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_published(
    given: Given, capsys: Capture, words: list[str], said: str
) -> None:
    fake = given()
    assert main(["pub", "k", *words]) == 2
    told = capsys.readouterr()
    assert (told.out, fake.asked) == ("", []) and said in told.err
