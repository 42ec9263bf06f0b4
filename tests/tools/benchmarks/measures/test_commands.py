"""The benchmark of commands lists every node, and leaves no files behind."""

from pathlib import Path

import pytest

from tools.benchmarks.loads.crowded_node import introduced
from tools.benchmarks.measures import commands


def test_no_two_nodes_of_the_crowd_are_the_same_and_none_can_be_dialled() -> None:
    crowd = [introduced(i) for i in range(commands.NODES)]
    assert len({node.uuid for node in crowd}) == len({node.name for node in crowd}) == commands.NODES
    assert {node.address for node in crowd} == {""}


def test_a_list_without_all_nodes_is_no_result(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    monkeypatch.setattr(commands, "first_message", lambda *_: 1.0)
    monkeypatch.setattr(commands, "_crowded", lambda *_: True)
    for rows, flaw in ((30, ""), (29, "29 of 30 nodes are listed")):
        monkeypatch.setattr(commands, "listed_nodes", lambda *_, rows=rows: (2.0, 1.0, rows))
        first, many = commands.measured(3, lambda: None, 30).rows
        assert (first.flaw, many.flaw, many.measured) == ("", flaw, 2.0)


@pytest.mark.slow
def test_a_tiny_run_of_commands_lists_every_node(place: Path) -> None:
    steps: list[int] = []
    report = commands.measured(1, lambda: steps.append(1), 30)
    assert report.is_clean and len(steps) == commands.STEPS
    assert [row.name for row in report.rows] == ["first message", "ls, many"]
    assert all(row.measured > 0 for row in report.rows)
