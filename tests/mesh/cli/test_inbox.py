"""`mesh inbox`: messages to a client are printed, and an inbox is released."""

import json

import pytest

from mesh.cli.main import main
from mesh.client import operating
from mesh.client.batch import Batch
from mesh.client.message import Message
from mesh.errors import MeshTimeout
from mesh.wire.envelope import Envelope
from tests.mesh.cli.fake import FakeClient, Given

JOE = FakeClient.name


class Inbox:
    """An inbox with these messages, and no further ones."""

    def __init__(self, *messages: Message) -> None:
        self._messages = list(messages)

    def __enter__(self) -> "Inbox":
        return self

    def __exit__(self, *_: object) -> None:
        """Close nothing."""

    def next_message(self, timeout: float | None) -> Message:
        if not self._messages:
            raise MeshTimeout("none.")
        return self._messages.pop(0)


def letter(content: bytes, key: str = "") -> Message:
    body = Envelope(
        bytes(16), "", 1, 1, (key,), 1, len(content), content, sender="/node/a/client/ann/session/2", to=JOE
    )
    return Batch(body)[0]


@pytest.mark.parametrize(
    ("options", "out"),
    [
        ([], "/node/a/client/ann/session/2  one\n/node/a/client/ann/session/2  greeting  two\\n\n"),
        (["--raw"], "one\ntwo\n\n"),
    ],
)
def test_inbox_prints_who_sent_what(
    given: Given, capsys: pytest.CaptureFixture[str], options: list[str], out: str
) -> None:
    fake = given(inbox=Inbox(letter(b"one"), letter(b"two\n", "greeting")))
    assert main(["inbox", "--count", "2", "--client", "joe", "--session", "1", *options]) == 0
    assert capsys.readouterr() == (out, f"listening for {JOE}\n")
    assert fake.opened == {"url": None, "client": "joe", "session": 1}


def test_inbox_ends_when_its_time_is_over(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    given(inbox=Inbox(letter(b"one")))
    assert main(["inbox", "--wait", "1", "--json"]) == 124
    said = capsys.readouterr()
    assert (json.loads(said.out)["to"], said.err.splitlines()[1]) == (
        JOE,
        "mesh: The time limit of 1 s has passed. [TIMEOUT]",
    )


@pytest.mark.parametrize(
    ("released", "code", "said"),
    [
        (
            ["/node/a/client/joe"],
            0,
            "/node/a/client/joe was released: the next client that opens it owns it\n",
        ),
        ([], 1, "the inbox of joe has no owner here\n"),
    ],
)
def test_trial_A5_inbox_release_says_what_is_free(
    given: Given, capsys: pytest.CaptureFixture[str], released: list[str], code: int, said: str
) -> None:
    marks: list[tuple[str, ...]] = []

    def call(*_: object, **__: object) -> object:
        marks.append(operating.marks())
        return {"released": released}

    fake = given(call=call)
    assert main(["inbox", "release", "joe", "--url", "a"]) == code
    assert marks == [("operator",)], "no node sends the command to another one"
    assert capsys.readouterr() == ("", said)
    assert fake.opened == {"url": "a"}
