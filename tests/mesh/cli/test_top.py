"""`mesh top`: all nodes, sorted by the chosen column, within the screen, until it is ended."""

import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console

from mesh.cli.main import main
from mesh.cli.top_picture import DROPPED, ORDERS, TITLES, next_order, ordered, picture, summary
from mesh.errors import LocalError, MeshTimeout, Refused
from tests.mesh.cli.fake import Given
from tests.mesh.cli.rows import UNHEARD, listed, row
from tests.mesh.running import LIMIT, until

THREE = listed(
    row("heron", via="self", cpu=20.0, published=10.0),
    row("egret", cpu=90.4, published=30.0, state="suspect"),
    row("stork", **{**UNHEARD, "state": "dead"}),
)


def drawn(found: dict[str, Any], order: str = "", width: int = 200, most: int | None = None) -> list[str]:
    out = io.StringIO()
    console = Console(width=width, file=out)
    console.print(picture(found, order, console, most))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def names(lines: list[str]) -> list[str]:
    return [line.split()[0] for line in lines[3:]]


def test_there_is_a_row_for_each_node_with_its_figures() -> None:
    head, _, header, egret, *_ = drawn(THREE)
    assert "as heron sees it: 1 alive · 1 suspect · 1 dead · 40 published/s · 0 delivered/s" in head
    assert header.split() == list(TITLES)
    assert egret.split() == [
        "egret", "suspect", "███████░", "90", "%", "25", "%", "0.50", "0.4", "ms", "30", "0", "7", "0", "0",
        "2", "1.0", "ms", "1.5", "s",
    ]  # fmt: skip


def test_a_node_of_which_nothing_is_known_has_dashes() -> None:
    stork = drawn(THREE)[-1].split()
    assert stork[:2] == ["stork", "dead"]
    assert set(stork[2:]) == {"-", "1.0", "ms"}  # the round trip is measured here


def test_it_is_sorted_by_name_or_by_what_is_largest_and_the_unknown_last() -> None:
    assert names(drawn(THREE)) == ["egret", "heron", "stork"]
    lines = drawn(THREE, "PUB/S")
    assert names(lines) == ["egret", "heron", "stork"] and "PUB/S ▼" in lines[2]
    rows = [row("a", cpu=1.0), row("b", cpu=3.0), row("c", **UNHEARD), row("d", cpu=2.0)]
    assert [node["name"] for node in ordered(rows, "CPU")] == ["b", "d", "a", "c"]


def test_a_key_goes_through_all_orders_and_back() -> None:
    seen = [""]
    while (order := next_order(seen[-1])) not in seen:
        seen.append(order)
    assert seen == list(ORDERS) and order == ""


@pytest.mark.parametrize("width", range(30, 130, 10))
def test_on_a_narrow_screen_columns_are_left_out_and_no_row_is_folded(width: int) -> None:
    lines = drawn(THREE, "CPU", width)
    assert len(lines) == 6 and max(map(len, lines)) <= width
    shown = [title for title in TITLES if title in lines[2]]
    assert shown == [title for title in TITLES if title not in DROPPED[: len(TITLES) - len(shown)]]


def test_of_many_nodes_the_first_in_the_order_are_shown_and_the_others_counted() -> None:
    lines = drawn(THREE, "CPU", most=2)
    assert names(lines) == ["egret", "heron", "..."] and lines[-1] == "... and 1 node more"


def test_a_mesh_without_an_answering_node_can_be_told_of() -> None:
    assert "as ? sees it: " in summary(listed())


def older(verb: str, **said: Any) -> dict[str, Any]:
    """Answer as a node of a release without queues."""
    if verb == "queue_ls":
        raise LocalError("The node knows no verb 'queue_ls'.", code="UNKNOWN_VERB")
    return THREE


# --- the verb ---------------------------------------------------------------------------------------------


def test_once_prints_a_picture(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    fake = given(call=older)
    assert main(["top", "--once", "--url", "heron"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert names(lines) == ["egret", "heron", "stork"]
    asked = [("call", ("ls",), {}), ("call", ("queue_ls",), {"after": "", "here": True})]
    assert fake.opened == {"url": "heron"} and fake.asked == asked


def test_once_as_json_is_one_document(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    given(call=older)
    assert main(["top", "--once", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == THREE


def test_as_json_it_goes_on_a_line_each_time(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    answers: Iterator[Any] = iter([THREE, THREE, Refused("no.")])
    given(call=lambda verb, **said: next(answers) if verb == "ls" else older(verb))
    assert main(["top", "--json", "--interval", "0.1"]) == 2
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["nodes"] for line in lines] == [THREE["nodes"]] * 2
    assert lines[0]["time"] < lines[1]["time"]


def test_a_node_that_does_not_answer_is_an_error_when_asked_once(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    given(call=MeshTimeout("the node did not answer."))
    assert main(["top", "--once"]) == 124
    assert "[TIMEOUT]" in capsys.readouterr().err


# --- on a terminal ----------------------------------------------------------------------------------------

LIVE = """
import sys
from mesh import sync
from mesh.cli.main import main
from tests.mesh.cli.fake import FakeClient
from tests.mesh.cli.test_top import older
sync.connect = FakeClient(call=older).connect
sys.exit(main(["top"]))
"""


class Terminal:
    """`mesh top` on a terminal of its own."""

    def __init__(self) -> None:
        self._ours, theirs = pty.openpty()
        environ = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "20"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", LIVE],
            stdin=theirs,
            stdout=theirs,
            stderr=subprocess.PIPE,
            env=environ,
            start_new_session=True,
        )
        os.close(theirs)
        self._seen = ""

    def until(self, text: str) -> None:
        """Read until the terminal has shown `text`."""

        def is_shown() -> bool:
            while select.select([self._ours], [], [], 0)[0]:
                self._seen += os.read(self._ours, 65536).decode("utf-8", "replace")
            return text in self._seen

        until(is_shown)

    def press(self, key: str) -> None:
        os.write(self._ours, key.encode())

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()
        os.close(self._ours)


def test_keys_sort_and_end_it_and_the_screen_is_given_back() -> None:
    with Terminal() as terminal:
        terminal.until("now by name")
        terminal.press("s")
        terminal.until("now by cpu")
        terminal.press("x")
        terminal.press("q")
        terminal.until("\x1b[?1049l")  # the alternate screen is left
        _, err = terminal.process.communicate(timeout=LIMIT)
        assert (terminal.process.returncode, err) == (0, b"")


@pytest.mark.slow
def test_ctrl_c_ends_it_quietly() -> None:
    with Terminal() as terminal:
        terminal.until("heron")
        terminal.process.send_signal(signal.SIGINT)  # as the terminal does
        terminal.until("\x1b[?1049l")
        _, err = terminal.process.communicate(timeout=LIMIT)
        assert (terminal.process.returncode, err.strip()) == (130, b"")
