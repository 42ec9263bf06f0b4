"""The wait of `mesh drain --clients` for an empty node, the report of the rest, and the final command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as example
from hypothesis import strategies as st
from msgspec import structs, to_builtins

from mesh.cli import drain_node
from mesh.cli.drain_node import WIDTH, bar, counted, line
from mesh.cli.main import main
from mesh.errors import LocalError, MeshTimeout
from mesh.wire.replies import Drain, LeftRow, NodeDrained
from tests.mesh.cli.fake import Given

Capture = pytest.CaptureFixture[str]
CLIENTS = LeftRow(step="clients", what="clients", count=3, fate="moves")
DOWN = LeftRow(
    step="outbound", what="messages in the outbound buffer", count=7, fate="waits", node="ibis\x1b"
)
OLD = LeftRow(step="clients", what="clients", count=1, fate="stays", why="their release cannot move")
MOVING = NodeDrained(drains=True, step="clients", left=[CLIENTS])
EMPTY = NodeDrained(drains=True, step="done", is_complete=True)
WAITING = NodeDrained(drains=True, step="done", is_complete=True, left=[DOWN])
STAYING = NodeDrained(drains=True, step="done", left=[OLD])


class Node:
    """A node with these answers, one after the other. The last one is repeated."""

    def __init__(self, *answers: NodeDrained | Exception) -> None:
        self.answers = [*answers]
        self.asked: list[tuple[str, str]] = []

    def __call__(self, verb: str, **arguments: Any) -> Any:
        if verb == "info":
            return {"name": "heron"}
        self.asked.append((verb, arguments["do"]))
        if verb == "queue_drain":
            return to_builtins(Drain())
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return found if isinstance(found, Exception) else to_builtins(found)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drain_node, "PAUSE", 0.0)


def test_it_begins_once_waits_and_runs_the_command_whose_exit_code_it_returns(
    given: Given, capsys: Capture, tmp_path: Path
) -> None:
    node = Node(MOVING, MOVING, MeshTimeout("it is away."), EMPTY)
    given(call=node)
    mark = tmp_path / "mark"
    assert main(["drain", "--clients", "--then", f"touch {mark}; exit 5"]) == 5
    assert mark.exists() and [do for _, do in node.asked] == ["begin", "look", "look", "look"]
    said = capsys.readouterr().err
    assert f"[{'.' * WIDTH}] heron sends clients away: 3 clients remain\n" in said
    assert "heron is empty" in said and "mesh drain --cancel --url heron" in said


def test_messages_for_a_node_that_is_down_are_named_and_do_not_prevent_the_command(
    given: Given, capsys: Capture
) -> None:
    given(call=Node(WAITING))
    assert main(["drain", "--clients", "--then", "exit 3"]) == 3
    out, err = capsys.readouterr()
    assert "ibis\\x1b" in out and "nodes that are down" in err


def test_the_command_is_not_run_while_something_else_is_left(
    given: Given, capsys: Capture, tmp_path: Path
) -> None:
    given(call=Node(STAYING))
    mark = tmp_path / "mark"
    assert main(["drain", "--clients", "--then", f"touch {mark}"]) == 1
    assert not mark.exists()
    out, err = capsys.readouterr()
    assert "their release cannot move" in out and "not run, because something is left" in err


def test_it_waits_so_long_and_names_what_is_left(given: Given, capsys: Capture) -> None:
    given(call=Node(MOVING))
    assert main(["drain", "--clients", "--wait", "0.01"]) == 124
    assert "3 clients; the drain continues" in capsys.readouterr().err


def test_an_interrupted_drain_continues_and_the_command_says_how_to_end_it(
    given: Given, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    node = Node(MOVING)
    given(call=node)
    monkeypatch.setattr("mesh.cli.drain_node.time.sleep", interrupted)
    assert main(["drain", "--clients", "--then", "exit 3"]) == 130
    said = capsys.readouterr().err
    assert "the drain of heron continues" in said and "mesh drain --cancel --url heron" in said
    assert [do for _, do in node.asked] == ["begin"], "nothing else is asked"


def test_another_command_that_ends_the_drain_is_an_error(given: Given, capsys: Capture) -> None:
    given(call=Node(MOVING, NodeDrained()))
    assert main(["drain", "--clients"]) == 2 and "[DRAIN_CANCELLED]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("answer", "code", "says"),
    [
        (MOVING, 1, "heron is being drained with its clients: it sends clients away"),
        (EMPTY, 0, "heron is empty"),
        (WAITING, 0, "heron is empty"),
        (STAYING, 1, "heron is drained, but not empty"),
    ],
)
def test_to_look_begins_nothing(
    answer: NodeDrained, code: int, says: str, given: Given, capsys: Capture
) -> None:
    node = Node(answer)
    given(call=node)
    assert main(["drain", "--look"]) == code and node.asked == [("drain", "look")]
    assert says in capsys.readouterr().err
    assert main(["drain", "--look", "--json"]) == code
    assert json.loads(capsys.readouterr().out) == to_builtins(answer)


def test_to_cancel_ends_both_kinds_of_drain(given: Given) -> None:
    node = Node(NodeDrained())
    given(call=node)
    assert main(["drain", "--cancel"]) == 0
    assert node.asked == [("drain", "cancel"), ("queue_drain", "cancel")]


def test_a_node_of_an_earlier_release_cancels_a_drain_of_its_queues(given: Given) -> None:
    node = Node(LocalError("heron knows no verb 'drain'.", code="UNKNOWN_VERB"))
    given(call=node)
    assert main(["drain", "--cancel"]) == 0
    assert main(["drain", "--clients"]) == 2


def test_an_unknown_node_is_not_found_and_the_command_is_not_run(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, tmp_path: Path
) -> None:
    monkeypatch.setenv("MESH_STATE_DIR", str(tmp_path))
    mark = tmp_path / "mark"
    assert main(["drain", "--clients", "--url", "nowhere", "--then", f"touch {mark}"]) == 2
    assert "nowhere" in capsys.readouterr().err and not mark.exists()


def test_what_the_node_refuses_is_told(given: Given, capsys: Capture) -> None:
    given(call=Node(LocalError("heron can reach no other node.", code="NO_OTHER_NODE")))
    assert main(["drain", "--clients"]) == 2 and "[NO_OTHER_NODE]" in capsys.readouterr().err


@pytest.mark.parametrize("more", [["--cancel"], ["--look"], []])
def test_a_command_needs_a_drain_with_clients(more: list[str]) -> None:
    clients = ["--clients"] if more else []
    assert main(["drain", *clients, *more, "--then", "true"]) == 2


@pytest.mark.parametrize("then", ["", " "])
def test_an_empty_command_is_refused(then: str, capsys: Capture) -> None:
    assert main(["drain", "--clients", "--then", then]) == 2 and "--then" in capsys.readouterr().err


def test_a_command_that_a_signal_ends_has_the_exit_code_of_a_shell(given: Given) -> None:
    given(call=Node(EMPTY))
    assert main(["drain", "--clients", "--then", "kill -9 $$"]) == 137


@example(st.integers(0, 10**9), st.integers(0, 10**9))
def test_the_bar_is_full_only_when_nothing_is_left(left: int, most: int) -> None:
    text = bar(left, most)
    assert len(text) == WIDTH + 2 and ("." in text) is (left > 0)


def test_a_single_thing_is_named_in_the_singular() -> None:
    for what, one in (
        ("clients", "1 client"),
        ("clients with calls or messages in progress", "1 client with calls or messages in progress"),
        ("messages of queues", "1 message of queues"),
        ("sessions that moved", "1 session that moved"),
    ):
        assert (counted(1, what), counted(2, what)) == (one, f"2 {what}")
    single = NodeDrained(drains=True, step="clients", left=[structs.replace(CLIENTS, count=1)])
    assert line("heron", single, 1).endswith("heron sends clients away: 1 client remains")


@example(st.integers(20, 200), st.integers(0, 3))
def test_the_line_fits_into_the_terminal(columns: int, kinds: int) -> None:
    rows = [CLIENTS, OLD, structs.replace(DOWN, fate="moves")][:kinds]
    found = NodeDrained(
        drains=True, step="outbound", left=[structs.replace(row, fate="moves") for row in rows]
    )
    text = line("h" * 64, found, 100, columns)
    assert len(text) < columns and text.startswith("[")
