"""The summary of a report fits on a terminal screen, for any mesh."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from mesh.history.report.facts import Facts
from mesh.history.report.terminal import summary
from tests.spark.report.invented import empty, facts

SCREEN = 40  # lines


def printed(of: Facts, width: int, colours: bool = False) -> str:
    console = Console(width=width, file=StringIO(), force_terminal=colours, highlight=False)
    with console.capture() as capture:
        console.print(summary(of, width))
    return capture.get()


@pytest.mark.parametrize("count", [1, 3, 10, 11, 300])
@pytest.mark.parametrize("width", [80, 100, 200])
def test_it_fits_on_a_screen(count: int, width: int) -> None:
    lines = printed(facts(count), width).splitlines()
    assert len(lines) <= SCREEN
    assert max(map(len, lines)) <= width


def test_it_has_the_headline_the_nodes_and_what_stands_out() -> None:
    text = printed(facts(3), 100)
    assert text.startswith("Mesh lab · 2026-11-20 10:00 to 2026-11-21 09:58 UTC (23 h 58 min) · ")
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}
    assert rows["Nodes"][:2] == ["Nodes", "3"]
    assert rows["NODE"][-1] == "DEATHS"
    assert rows["wren"][-1] == "4"
    assert "Problem  crane is slow" in text


def test_at_three_hundred_nodes_it_has_the_ten_busiest_and_says_how_many_more() -> None:
    made = facts(300)
    text = printed(made, 100)
    assert all(node.name in text for node in made.nodes[:10])
    assert made.nodes[10].name not in text.partition("NODE")[2].partition("the busiest")[0]
    assert "the busiest; and 290 more" in text


def test_where_it_is_narrow_columns_go_and_no_figure_is_cut() -> None:
    narrow = printed(facts(3), 60)
    assert "RAM" not in narrow and "CPU" in narrow
    assert "…" not in narrow.partition("NODE")[2].partition("Problem")[0]


def test_what_the_mesh_says_is_no_markup() -> None:
    made, evil = facts(3), "[bold red]x[/]"
    first, *others = made.nodes
    assert evil in printed(replace(made, nodes=(replace(first, name=evil), *others)), 100)


def test_of_nothing_it_says_so() -> None:
    assert "There are no lines" in printed(empty(), 80)
