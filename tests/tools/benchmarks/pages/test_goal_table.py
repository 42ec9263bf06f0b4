"""The goals that the page shows as reached: only measured ones without a flaw."""

from pathlib import Path

import pytest

from tools.benchmarks.pages.goal_table import table
from tools.benchmarks.pages.report import Report, Row, write
from tools.running.processes import Failed


def test_each_figure_with_a_goal_has_a_line_and_the_others_have_none(tmp_path: Path) -> None:
    write(Report("durable", [Row("fsyncs", 5000.0), Row("durable by fsync", 0.95)]), tmp_path)
    write(Report("footprint", [Row("resident", 80.0), Row("ready", 0.5)]), tmp_path)
    assert table(tmp_path).splitlines()[2:] == [
        "| one at a time, of raw fsyncs | ≥ 0.9 of 1 | 0.95 of 1 | yes |",
        "| idle node with two peers, resident | ≤ 40 MB | 80 MB | 0.50 of it |",
        "| mesh up, until it is ready | ≤ 1 s | 0.5 s | yes |",
    ]


def test_what_was_not_measured_or_is_flawed_is_not_reached(tmp_path: Path) -> None:
    ratio = "1-1: heronry / nats-c"
    for row in (Row(ratio, 0.0, missing="not installed"), Row(ratio, 9.0, flaw="lost 1")):
        write(Report("peers", [row]), tmp_path)
        assert table(tmp_path).endswith(f"| {row.missing or row.flaw} | no |")


def test_a_folder_without_results_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="holds no result of tools/bench: run a part of it first"):
        table(tmp_path)
