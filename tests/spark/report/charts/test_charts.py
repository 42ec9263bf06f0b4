"""Charts of a report: their values, colors of the style sheet only, and names as plain text."""

import json
import re
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import Any

import pytest

from mesh.history.report.charts.by_name import Dots, bars, dots, matrix
from mesh.history.report.charts.drawing import NAMED, Chart
from mesh.history.report.charts.over_time import Axis, Bar, bands, heat, lines, points, spells, steps

START = datetime(2026, 11, 21, 9, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
AXIS = Axis([START + minute * MINUTE for minute in range(3)], MINUTE)
EVIL = "<a href='https://x.example'>wren & co</a>"
ESCAPED = "&lt;a href='https://x.example'&gt;wren &amp; co&lt;/a&gt;"
CHARTS = {
    "lines": lines(AXIS, {EVIL: (1.0, None, 3.0)}, "ms"),
    "bands": bands(AXIS, {f"n{n}": (float(n), None, 2.0 * n) for n in range(11)}, "ms"),
    "steps": steps((START, START + 3 * MINUTE), [(START, 1), (START + MINUTE, 2)], "nodes"),
    "heat": heat(AXIS, {EVIL: (1.0, None, 3.0), "heron": (0.0, 1.0, 2.0)}, "%", 100),
    "spells": spells(AXIS.span, [Bar(EVIL, START, START + MINUTE, "dead")], {"dead": ("x", "dead")}),
    "points": points(AXIS.span, {"first observer": [(START, 1.5, EVIL)]}, "seconds"),
    "dots": dots(
        [EVIL, "heron"], {"now": Dots([1.0, None]), "most": Dots([5.0, 4.0], [4.0, 3.0], [7.0, 5.0])}, "%"
    ),
    "bars": bars([EVIL, "heron"], [10, 5], "messages"),
    "matrix": matrix([EVIL, "heron"], [EVIL, "heron"], [[None, 0.5], [20.0, 0.0]], "ms"),
}


def drawn(name: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    figure = json.loads(CHARTS[name].json)
    return figure["data"], figure["layout"]


def colours(value: Any, key: str = "") -> set[str]:
    """Return all colors of a figure."""
    if isinstance(value, dict):
        return set().union(*(colours(item, name) for name, item in value.items()))
    if isinstance(value, list):
        return set().union(*(colours(item, key) for item in value))
    return {value} if "color" in key and isinstance(value, str) and key != "colorbar" else set()


@pytest.mark.parametrize("name", CHARTS)
def test_every_colour_is_one_of_the_style_sheet(name: str) -> None:
    known = set(
        re.findall(r"^  (--[a-z0-9-]+):", files("mesh.history.report").joinpath("page.css").read_text(), re.M)
    )
    found = colours(json.loads(CHARTS[name].json))
    assert len(found) > 3
    assert {text.removeprefix("var(").removesuffix(")") for text in found} <= known


@pytest.mark.parametrize("name", ["lines", "heat", "spells", "points", "dots", "bars", "matrix"])
def test_names_are_texts_for_plotly_and_no_links(name: str) -> None:
    assert ESCAPED in json.dumps(drawn(name)[0])
    assert "<a" not in CHARTS[name].json


@pytest.mark.parametrize("name", ["lines", "bands", "steps", "heat", "spells", "points"])
def test_all_charts_of_a_time_show_the_same_time_in_utc(name: str) -> None:
    axis = drawn(name)[1]["xaxis"]
    assert (axis["type"], axis["range"]) == ("date", ["2026-11-21 09:00:00", "2026-11-21 09:03:00"])


def test_a_count_holds_until_it_changes_and_to_the_end() -> None:
    (line,), _ = drawn("steps")
    assert (line["y"], line["line"]["shape"]) == ([1.0, 2.0, 2.0], "hv")
    assert line["x"] == ["2026-11-21 09:00:00", "2026-11-21 09:01:00", "2026-11-21 09:03:00"]


def test_a_line_has_a_gap_where_nobody_knows() -> None:
    (line,), _ = drawn("lines")
    assert line["y"] == [1.0, None, 3.0] and not line.get("connectgaps")


def test_bands_are_the_median_the_middle_eighty_percent_and_the_highest() -> None:
    traces = {trace["name"]: trace["y"] for trace in drawn("bands")[0]}
    assert {name: y[0] for name, y in traces.items()} == {
        "10 % are below": 1,
        "90 % are below": 9,
        "median node": 5,
        "highest node": 10,
    }
    assert {y[1] for y in traces.values()} == {None}


def test_a_map_has_a_row_for_each_name_and_a_cell_for_each_bucket() -> None:
    (cells,), _ = drawn("heat")
    assert (len(cells["x"]), cells["y"], cells["z"]) == (4, [ESCAPED, "heron"], [[1, None, 3], [0, 1, 2]])
    assert (cells["zmin"], cells["zmax"]) == (0, 100)


def test_a_matrix_is_coloured_by_powers_of_ten_and_says_the_figures_themselves() -> None:
    (cells,), _ = drawn("matrix")
    assert cells["z"] == [[None, -0.301], [1.301, None]]
    assert cells["customdata"] == [[None, 0.5], [20, 0]]
    assert cells["colorbar"]["ticktext"] == ["0.5", "1", "2", "5", "10", "20"]


def test_where_all_cells_are_alike_the_scale_still_has_two_ends() -> None:
    (cells,) = json.loads(matrix(["a", "b"], ["a", "b"], [[None, 0.21], [0.24, None]], "ms").json)["data"]
    assert cells["colorbar"]["ticktext"] == ["0.21", "0.24"]


def test_an_interval_reaches_from_its_low_to_its_high_end() -> None:
    _, most = drawn("dots")[0]
    assert (most["error_x"]["arrayminus"], most["error_x"]["array"]) == ([1, 1], [2, 1])


def test_a_bar_of_a_life_ends_with_its_mark() -> None:
    life, mark = drawn("spells")[0]
    assert (life["base"], life["x"]) == (["2026-11-21 09:00:00"], [60_000])
    assert (mark["name"], mark["x"], mark["marker"]["symbol"]) == ("dead", ["2026-11-21 09:01:00"], "x")


def test_of_very_many_names_only_some_are_written_beside_the_axis() -> None:
    names = [f"node-{number}" for number in range(300)]
    chart: Chart = bars(names, [1] * 300, "messages")
    axis = json.loads(chart.json)["layout"]["yaxis"]
    assert len(axis["tickvals"]) <= NAMED and axis["tickvals"][0] == "node-0"
    assert chart.height < 1000
