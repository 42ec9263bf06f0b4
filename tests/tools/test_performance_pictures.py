"""The pictures of docs/performance.md show the measured figures and nothing else."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.pages import ROOT
from tools import performance_pictures
from tools.benchmarks.pages.report import Report, Row, read, write
from tools.benchmarks.pages.svg import Bar, Line, bars, lines
from tools.performance_pictures import FOLDER, beside_peers, curve, main, pictures, table

PAGE = ROOT / "docs" / "performance.md"
SVG = "{http://www.w3.org/2000/svg}"


def texts(picture: str) -> list[str]:
    return ["".join(each.itertext()) for each in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def test_the_pictures_are_what_their_figures_make_and_the_page_shows_each() -> None:
    assert main(["--check"]) == 0, "Type: python -m tools.performance_pictures"
    shown = re.findall(r"\(performance/(\S+)\.svg\)", PAGE.read_text())
    assert sorted(shown) == sorted(name for name, _ in pictures(FOLDER))
    assert sorted(shown) == sorted(path.stem for path in FOLDER.glob("*.svg"))


def test_one_that_is_out_of_date_is_named_and_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, page = tmp_path / "performance", tmp_path / "performance.md"
    folder.mkdir()
    for path in FOLDER.glob("*.json"):
        (folder / path.name).write_bytes(path.read_bytes())
    page.write_text(PAGE.read_text())
    monkeypatch.setattr(performance_pictures, "FOLDER", folder)
    assert main([]) == 0
    (folder / "lone.svg").write_text("old")
    (folder / "large.svg").unlink()
    page.write_text(PAGE.read_text().replace("| NATS, C | ", "| NATS, C | 9"))
    assert main(["--check"]) == 1
    assert capsys.readouterr().out.startswith("large.svg, lone.svg, performance.md: not as the figures are")
    assert (folder / "lone.svg").read_text() == "old"


def test_the_table_has_three_digits_of_each_and_says_who_lost_some() -> None:
    rows = [
        Row("1-1: heronry", 1_234_567.0),
        Row("1k: heronry", 98_765.0),
        Row("1-1: nats-c", 0.0, flaw="lost 1"),
        Row("1-1: redis-c", 0.0, missing="no root"),
    ]
    lines_of = table(rows).splitlines()
    assert lines_of[2] == "| **Heronry**, `post` | 1,230,000 | 98,800 | | | |"
    assert "| NATS, C | lost some | | | | |" in lines_of
    assert "| Redis, C, pipeline of 100 | | | | | |" in lines_of


def test_what_a_benchmark_writes_is_read_as_it_was(tmp_path: Path) -> None:
    report = Report(
        "peers", [Row("1-1: heronry", 3.0, "a note"), Row("1-1: nats-c", 0.0, flaw="lost 1")], {"a": 1}
    )
    assert read(write(report, tmp_path)) == report


def test_the_best_stands_first_and_the_message_is_reckoned_from_the_figures() -> None:
    rows = [Row("1-1: heronry", 300.0), Row("1-1: nats-c", 200.0), Row("1-1: zmq-c", 0.0, flaw="lost 1")]
    said = texts(beside_peers(rows, "1-1", "One to one", "nats-c"))
    assert said[0] == "One to one: 1.5 times as many as nats-c"
    assert said[2:] == ["heronry", "300 msg/s", "nats-c", "200 msg/s"], "who has no result has no bar"
    late = [Row("500/s: heronry", 1.0), Row("500/s: nats-c", 0.5)]
    said = texts(beside_peers(late, "500/s", "Alone", "nats-c"))
    assert said[0] == "Alone: 2.0 times the time of nats-c" and said[2] == "nats-c"


def test_a_bar_is_as_long_as_its_figure_and_what_is_foreign_is_only_text() -> None:
    picture = bars("a < b & c", "below", [Bar("one", 10.0, "10", True), Bar("two", 5.0, "5", False)])
    one, two = list(ElementTree.fromstring(picture).iter(f"{SVG}rect"))[1:]
    assert float(one.attrib["width"]) == pytest.approx(2 * float(two.attrib["width"]), abs=0.2)
    assert texts(picture)[0] == "a < b & c" and "prefers-color-scheme: dark" in picture


def test_names_stand_at_the_ends_of_their_lines_and_not_on_one_another() -> None:
    shown = [Line(name, [(10, 0.001), (1000, value)]) for name, value in (("a", 0.1), ("b", 0.099), ("c", 9))]
    found = {
        "".join(each.itertext()): (float(each.attrib["y"]), each.attrib["class"])
        for each in ElementTree.fromstring(lines("m", "b", shown, "s")).iter(f"{SVG}text")
    }
    assert abs(found["a"][0] - found["b"][0]) >= 16 and found["c"][0] < found["a"][0]
    assert len({found[name][1] for name in "abc"}) == 3


def test_a_curve_has_the_sizes_at_which_it_is_known_and_its_slope() -> None:
    rows = [{"size": 10.0, "make": 0.0}, {"size": 100.0, "make": 1.0}, {"size": 1000.0, "make": 10.0}]
    assert curve(rows, "make", "all") == Line("all: 1.00", [(100.0, 1.0), (1000.0, 10.0)])
