"""`mesh top`: the queues of its node, longest first, below the nodes and within the screen."""

import io
import json
from typing import Any

import pytest
from rich.console import Console

from mesh.cli.main import main
from mesh.cli.top_queues import DROPPED, ELSE, PAGES, TITLES, picture, queues_of, shares
from mesh.errors import LocalError, Refused
from mesh.wire.replies import QueueRow
from tests.mesh.cli.fake import FakeClient, Given
from tests.mesh.cli.rows import listed, row

JOBS = QueueRow(
    name="jobs", ready=1200, out=30, delayed=4, consumers=3, oldest=130.0, arrives=12.34, leaves=0.01, dead=5
)
LEFT = QueueRow(name="left", delayed=2)
IDLE = QueueRow(name="idle", consumers=1)
EMPTY = QueueRow(name="empty", dead=7, arrives=3.0)
ALL = [EMPTY, IDLE, JOBS, LEFT]


def drawn(
    queues: list[QueueRow], width: int = 200, most: int | None = None, colour: bool = False
) -> list[str]:
    out = io.StringIO()
    Console(width=width, file=out, force_terminal=colour).print(picture(queues, Console(width=width), most))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def plain(queue: QueueRow) -> dict[str, Any]:
    return {name: getattr(queue, name) for name in queue.__struct_fields__}


def test_those_with_something_in_them_or_somebody_who_takes_are_told_the_longest_first() -> None:
    header, *rows = drawn(ALL)
    assert header.split() == list(TITLES)
    assert [line.split()[0] for line in rows] == ["jobs", "left", "idle"]
    assert rows[0].split() == ["jobs", "1,200", "30", "3", "12.3", "-", "2", "m", "5"]
    assert rows[1].split() == ["left", "0", "0", "0", "-", "-", "-", "0"]


def test_one_from_which_nobody_takes_stands_out() -> None:
    _, jobs, left, _ = drawn(ALL, colour=True)
    assert "\x1b[33m" in left and "\x1b[33m" not in jobs


@pytest.mark.parametrize("width", range(30, 90, 10))
def test_on_a_narrow_screen_columns_are_left_out_and_no_row_is_folded(width: int) -> None:
    lines = drawn([JOBS, QueueRow(name="x yz" * 50, ready=1)], width)
    assert len(lines) == 3 and max(map(len, lines)) <= width
    shown = [title for title in TITLES if title in lines[0].split()]
    assert shown == [title for title in TITLES if title not in DROPPED[: len(TITLES) - len(shown)]]


def test_the_first_are_shown_and_the_others_counted() -> None:
    lines = drawn(ALL, most=1)
    assert lines[1].split()[0] == "jobs" and lines[2:] == ["... and 2 queues more"]


@pytest.mark.parametrize(
    ("room", "nodes", "queues", "expected"),
    [
        (20, 3, 0, (20, 0)),
        (20, 3, 5, (12, 5)),
        (20, 3, 50, (3, 14)),
        (20, 100, 50, (9, 8)),
        (20, 100, 2, (15, 2)),
        (ELSE + 1, 3, 5, (ELSE + 1, 0)),
        (ELSE + 2, 3, 5, (1, 1)),
        (-3, 3, 5, (1, 0)),
    ],
)
def test_nodes_and_queues_share_the_screen(
    room: int, nodes: int, queues: int, expected: tuple[int, int]
) -> None:
    assert shares(room, nodes, queues) == expected


def test_all_pages_are_asked_for_and_one_that_leads_back_is_the_last() -> None:
    pages = {
        "": {"queues": [plain(EMPTY), plain(IDLE)], "more": "idle"},
        "idle": {"queues": [plain(JOBS)], "more": "a"},
    }
    m: Any = FakeClient(call=lambda verb, after, here: pages[after])
    assert queues_of(m) == [EMPTY, IDLE, JOBS]


def test_a_node_that_never_ends_is_not_asked_for_ever() -> None:
    m: Any = FakeClient(call=lambda verb, after, here: {"queues": [plain(JOBS)], "more": after + "x"})
    found = queues_of(m)
    assert found is not None and len(found) == PAGES


def test_a_node_without_queues_has_none_and_another_refusal_is_one() -> None:
    m: Any = FakeClient(call=LocalError("what?", code="UNKNOWN_VERB"))
    assert queues_of(m) is None
    m = FakeClient(call=Refused("no.", code="NOT_ALLOWED"))
    with pytest.raises(Refused):
        queues_of(m)


def test_they_stand_below_the_nodes_and_in_the_document(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = listed(row("heron", via="self", queued=1236))

    def answer(verb: str, **said: Any) -> dict[str, Any]:
        return nodes if verb == "ls" else {"queues": [plain(queue) for queue in ALL], "more": ""}

    given(call=answer)
    assert main(["top", "--once"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:1] for line in lines[3:]] == [
        ["heron"],
        [],
        ["QUEUE"],
        ["jobs"],
        ["left"],
        ["idle"],
    ]
    assert lines[3].split()[-6] == "1,236"
    given(call=answer)
    assert main(["top", "--once", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {**nodes, "queues": [plain(queue) for queue in ALL]}
