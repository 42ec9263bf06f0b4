"""`mesh drain` waits until nothing is left, and names what it waits for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import to_builtins

from mesh.cli import drain
from mesh.cli.main import main
from mesh.errors import LocalError, MeshTimeout
from mesh.wire.replies import Drain, NodeDrained, QueueReason
from tests.mesh.cli.fake import Given

Capture = pytest.CaptureFixture[str]
ROW = QueueReason(queue="jobs\x1b", messages=7, why="this node is being drained: they move to egret")
LEFT = Drain(drains=True, left=7, rows=[ROW], gone=3)
EMPTY = Drain(drains=True, gone=10)


class Node:
    """A node with these answers, one after the other. The last one is repeated."""

    def __init__(self, *answers: Drain | Exception) -> None:
        self.answers = [*answers]
        self.asked: list[str] = []

    def __call__(self, verb: str, **arguments: Any) -> Any:
        if verb == "info":
            return {"name": "heron"}
        if verb == "drain":  # no drain with clients
            return to_builtins(NodeDrained())
        self.asked.append(arguments["do"])
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return found if isinstance(found, Exception) else to_builtins(found)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drain, "PAUSE", 0.0)


def test_it_begins_once_and_waits_until_nothing_is_left(given: Given, capsys: Capture) -> None:
    node = Node(LEFT, LEFT, MeshTimeout("it is away."), EMPTY)
    given(call=node)
    assert main(["drain"]) == 0
    said = capsys.readouterr().err
    assert node.asked == ["begin", "look", "look", "look"]
    assert "7 messages left at heron, 3 gone" in said
    assert "mesh down --url heron" in said and "mesh drain --cancel --url heron" in said


def test_a_start_with_nothing_left_which_ends_it_does_not_end_what_was_asked_for(given: Given) -> None:
    node = Node(LEFT, Drain(), EMPTY)
    given(call=node)
    assert main(["drain"]) == 0 and node.asked == ["begin", "look", "begin"]


@pytest.mark.parametrize(("stay", "says"), [(1, "1 message stays"), (2, "2 messages stay")])
def test_what_stays_is_named_and_no_success(stay: int, says: str, given: Given, capsys: Capture) -> None:
    given(call=Node(Drain(drains=True, stay=stay, own=["mine\x1b"])))
    assert main(["drain"]) == 1
    assert f"{says}, in queues that exist only at this node: mine\\x1b" in capsys.readouterr().err


def test_it_waits_so_long_and_says_what_for(given: Given, capsys: Capture) -> None:
    given(call=Node(LEFT))
    assert main(["drain", "--wait", "0.01"]) == 124
    out, err = capsys.readouterr()
    assert "jobs\\x1b" in out and "they move to egret" in out and "[TIMEOUT]" in err


def test_somebody_elses_cancel_is_an_error(given: Given, capsys: Capture) -> None:
    given(call=Node(LEFT, Drain(left=7)))
    assert main(["drain"]) == 2
    assert "[DRAIN_CANCELLED]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("answer", "code", "text"),
    [(LEFT, 1, "they move to egret"), (EMPTY, 0, "are empty"), (Drain(), 1, "heron is not drained")],
)
def test_to_look_begins_nothing_and_waits_for_nothing(
    answer: Drain, code: int, text: str, given: Given, capsys: Capture
) -> None:
    node = Node(answer)
    given(call=node)
    assert main(["drain", "--look"]) == code and node.asked == ["look"]
    assert text in "".join(capsys.readouterr())
    assert main(["drain", "--look", "--json"]) == code
    assert json.loads(capsys.readouterr().out) == to_builtins(answer)


def test_to_cancel_does_just_that(given: Given, capsys: Capture) -> None:
    node = Node(Drain(left=3))
    given(call=node)
    assert main(["drain", "--cancel"]) == 0 and node.asked == ["cancel"]
    assert "heron is not drained" in capsys.readouterr().err
    assert main(["drain", "--cancel", "--look"]) == 2


def test_what_the_node_refuses_is_told(given: Given, capsys: Capture) -> None:
    given(call=Node(LocalError("heron knows no other node.", code="NO_OTHER_NODE")))
    assert main(["drain"]) == 2 and "[NO_OTHER_NODE]" in capsys.readouterr().err
