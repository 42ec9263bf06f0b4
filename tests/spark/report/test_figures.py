"""Figures in readable units, and texts of the mesh on one printable line."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.history.printable import visible
from mesh.history.report.figures import (
    LONGEST,
    counted,
    decimal,
    duration,
    harmless,
    listed,
    moment,
    number,
    percent,
    short,
    signed,
    size,
    spoken,
)


def test_numbers_have_separators_and_what_nobody_knows_is_a_dash() -> None:
    assert [number(1234567), number(0), number(None)] == ["1,234,567", "0", "-"]
    assert [signed(266.3), signed(-0.4), signed(-3.0), signed(None)] == ["+266", "0", "-3", "-"]
    unknown = [decimal(None), percent(None), duration(None), size(None), moment(None), spoken(None)]
    assert unknown == ["-"] * 6


@pytest.mark.parametrize(
    "value, text",
    [
        (0, "0"),
        (0.0421, "0.042"),
        (0.9999, "1.00"),
        (3.14159, "3.14"),
        (31.44, "31.4"),
        (314.4, "314"),
        (31415.9, "31,416"),
        (-2.5, "-2.50"),
        (0.0001, "0"),
    ],
)
def test_decimals_have_three_digits_that_count(value: float, text: str) -> None:
    assert decimal(value) == text


@pytest.mark.parametrize(
    "seconds, text",
    [(0, "0 s"), (0.00043, "0.43 ms"), (0.0124, "12 ms"), (0.9996, "1 s"), (3.44, "3.4 s"), (59.96, "1 min"),
     (125, "2 min 5 s"), (3599.9, "1 h"), (5214, "1 h 27 min"), (86399, "1 d"), (273_600, "3 d 4 h"),
     (-7.1, "-7.1 s")],
)  # fmt: skip
def test_durations_have_the_unit_that_fits(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@given(st.floats(0, 1e10))
def test_every_duration_can_be_written_and_none_has_sixty_seconds(seconds: float) -> None:
    assert not {"60 s", "60 min", "24 h"} & {duration(seconds), duration(seconds).partition(" ")[2]}


def test_shares_and_sizes_and_counts() -> None:
    assert [percent(12.34), percent(0.034, 1), percent(0.0), percent(1.0, 1)] == [
        "12 %",
        "3.4 %",
        "0 %",
        "100 %",
    ]
    assert [size(12), size(1234), size(34_500_000), size(2.5e12)] == ["12 B", "1.23 KB", "34.5 MB", "2.50 TB"]
    assert [counted(1, "node"), counted(300, "node"), counted(2, "life", "lives")] == [
        "1 node",
        "300 nodes",
        "2 lives",
    ]


def test_times_are_utc_whatever_zone_they_come_in() -> None:
    when = datetime(2026, 11, 21, 12, 5, tzinfo=timezone(timedelta(hours=2)))
    assert moment(when) == "2026-11-21 10:05"
    assert spoken(when.astimezone(UTC)) == "21\xa0Nov\xa02026,\xa010:05"


def test_a_list_names_three_and_counts_the_rest() -> None:
    names = ["a", "b", "c", "d", "e"]
    assert [listed(names[:1]), listed(names[:2]), listed(names)] == ["a", "a and b", "a, b, c and 2 more"]


@given(st.text(max_size=2 * LONGEST))
def test_whatever_a_text_is_it_becomes_one_short_printable_line(text: str) -> None:
    told = harmless(text)
    assert told.isprintable() and len(told) <= LONGEST
    assert visible(text) != text or len(text) > LONGEST or told == text


def test_what_would_turn_the_reading_direction_is_written_out() -> None:
    assert harmless("gnp\u202etxt.exe") == "gnp\\u202etxt.exe"


@given(st.text(max_size=80))
def test_a_short_name_keeps_both_ends(text: str) -> None:
    told = short(text)
    assert len(told) <= 22
    assert told == text or (text.startswith(told.split("…")[0]) and text.endswith(told.rpartition("…")[2]))
