"""Tables fit their screen, and their cells have no control characters."""

import io

import pytest
from rich.console import Console

from mesh.cli.table import GAP, NARROW, fitting, table_of, tell_table
from mesh.features.queues.cli.queue import DROPPED as QUEUE_DROPPED
from mesh.features.queues.cli.queue import HEADER as QUEUE_HEADER

HEADER = ("NODE", "LINK", "AGE")
ROWS = [["heron", "polling (next try in 3.2 s, attempt 4)", "12 ms"], ["egret", "logged in", "-"]]


def drawn(width: int, folded: str = "", dropped: tuple[str, ...] = ()) -> list[str]:
    out = io.StringIO()
    console = Console(width=width, file=out)
    console.print(table_of(*fitting(HEADER, ROWS, width, folded, dropped), folded))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_where_there_is_room_a_row_is_a_line() -> None:
    assert drawn(80, "LINK") == [
        "NODE   LINK                                    AGE",
        "heron  polling (next try in 3.2 s, attempt 4)  12 ms",
        "egret  logged in                               -",
    ]


def test_one_column_gives_way_before_the_others() -> None:
    lines = drawn(40, "LINK")
    assert lines[0].split() == ["NODE", "LINK", "AGE"]
    assert lines[1].startswith("heron  polling") and lines[1].endswith("12 ms")
    assert max(map(len, lines)) <= 40


def test_then_columns_are_left_out_in_their_order() -> None:
    assert drawn(25, "LINK", ("AGE", "LINK"))[0].split() == ["NODE", "LINK"]
    assert drawn(10, "LINK", ("AGE", "LINK")) == ["NODE", "heron", "egret"]


def test_where_a_column_is_folded_no_other_is_cut_and_the_first_one_stays() -> None:
    assert drawn(20, "LINK", ("AGE",))[0].split() == ["NODE", "LINK"]
    header = ("NAME", *QUEUE_HEADER)
    rows = [["orders", *["12,345"] * len(QUEUE_HEADER)]]
    for width in (20, 30, 40, 60, 80):
        shown, [cells] = fitting(header, rows, width, "NAME", QUEUE_DROPPED)
        assert shown[0] == "NAME" and cells[0] == "orders", width
        wide = [max(len(title), 6) for title in shown[1:]]
        assert NARROW + sum(wide) + GAP * len(wide) <= width, shown
        assert list(shown[1:3]) == (["READY"] if width < 30 else ["READY", "OUT"]), width


def test_the_first_column_stays_however_narrow_it_is() -> None:
    assert drawn(12, "LINK", ("AGE",))[0].split() == ["NODE", "LINK"]


def test_nothing_is_left_out_of_what_no_terminal_reads(capsys: pytest.CaptureFixture[str]) -> None:
    tell_table(HEADER, [["heron", "x" * 500, "1 s"]], dropped=("AGE",))
    assert capsys.readouterr().out.splitlines()[1].rstrip() == f"heron  {'x' * 500}  1 s"


def test_a_table_without_a_header_is_left_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    tell_table((), [("name", "heron")])
    assert capsys.readouterr().out.split() == ["name", "heron"]


def test_neither_markup_nor_escape_codes_are_carried_out(capsys: pytest.CaptureFixture[str]) -> None:
    tell_table(("A",), [["[red]\x1b[31m\n"]])
    assert capsys.readouterr().out.splitlines()[1].rstrip() == r"[red]\x1b[31m\n"
