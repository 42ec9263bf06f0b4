"""`mesh sub --durable` acks only what it prints; `mesh unsub` accepts the name of its queue, too."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mesh.cli.main import main
from mesh.client.reading import WHATEVER
from mesh.errors import MeshTimeout, QueueInUse
from mesh.features.queues.client.delivery import QueuedMessage
from tests.mesh.cli.fake import Given
from tests.mesh.envelopes import envelope
from tests.mesh.running import running

Capture = pytest.CaptureFixture[str]


class FakeConsumer:
    """A consumer with messages of these contents, which keeps the acked ones."""

    def __init__(self, *contents: bytes) -> None:
        self.acked: list[bytes] = []
        self._left = list(contents)

    def __enter__(self) -> FakeConsumer:
        return self

    def __exit__(self, *_: object) -> None:
        """Close nothing."""

    def next_delivery(self, timeout: float | None) -> QueuedMessage[Any]:
        if not self._left:
            raise MeshTimeout("none came.")
        return QueuedMessage(envelope(), 0, "k", self._left.pop(0), WHATEVER)

    def ack(self, some: list[QueuedMessage[Any]]) -> None:
        self.acked += [message.content for message in some]


def test_what_is_printed_is_acked_and_nothing_else(given: Given, capsys: Capture) -> None:
    jobs = FakeConsumer(b"1", b"2", b"3")
    fake = given(subscribe=jobs)
    assert main(["sub", "birds/#", "--domain", "D", "--durable", "audit", "--count", "2"]) == 0
    assert capsys.readouterr() == ("k  1\nk  2\n", "subscribed to birds/# as audit\n")
    assert jobs.acked == [b"1", b"2"]
    asked = {"pattern": "birds/#", "domain": "D", "durable": "audit", "max_queue": 2, "selector": None}
    assert fake.asked == [("subscribe", (), asked)]


def test_in_time_or_not(given: Given, capsys: Capture) -> None:
    jobs = FakeConsumer(b"1")
    given(subscribe=jobs)
    typed = ["sub", "k", "--durable", "audit", "--selector", "priority > 3", "--wait", "0.01", "--raw"]
    assert main(typed) == 124
    assert jobs.acked == [b"1"] and capsys.readouterr().out == "1\n"


@pytest.mark.parametrize("wrong", [["--group", "g"], ["--no-initial"], ["--overflow", "error"]])
def test_what_is_not_for_a_durable_one_is_refused(given: Given, capsys: Capture, wrong: list[str]) -> None:
    fake = given(subscribe=FakeConsumer())
    assert main(["sub", "k", "--durable", "audit", *wrong]) == 2
    assert "cannot be used with --durable" in capsys.readouterr().err
    assert main(["sub", "k", "--selector", "priority > 3"]) == 2 and not fake.asked


def test_unsub_takes_the_name_of_its_queue_too(given: Given, capsys: Capture) -> None:
    fake = given(unsubscribe=None)
    assert main(["unsub", "audit"]) == 0 and "audit was removed" in capsys.readouterr().err
    assert main(["unsub", "sub/audit", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"removed": "audit"}
    assert [arguments for _, arguments, _ in fake.asked] == [("audit",), ("audit",)]
    given(unsubscribe=QueueInUse("1 take from it."))
    assert main(["unsub", "audit"]) == 2 and "[QUEUE_IN_USE]" in capsys.readouterr().err


@pytest.mark.slow
def test_what_comes_meanwhile_is_printed_later() -> None:
    with running("a") as a:
        assert a.mesh("sub", "birds/#", "--durable", "audit", "--wait", "0.1").returncode == 124
        assert a.mesh("pub", "birds/heron", "one").returncode == 0
        assert a.mesh("queue", "ls").stdout.split("\n")[1].startswith("sub/audit ")
        assert "birds/#" in a.mesh("queue", "info", "sub/audit").stdout
        seen = a.mesh("sub", "birds/#", "--durable", "audit", "--count", "1")
        assert (seen.returncode, seen.stdout) == (0, "birds/heron  one\n")
        assert "[BAD_NAME]" in a.mesh("queue", "rm", "sub/audit").stderr
        assert a.mesh("unsub", "audit").returncode == 0
        assert a.mesh("queue", "ls").returncode == 1
