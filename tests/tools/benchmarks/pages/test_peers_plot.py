"""The picture of peers shows the figures of the rows, if it was requested."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tools.benchmarks import __main__ as bench
from tools.benchmarks import catalog
from tools.benchmarks.measures import contest
from tools.benchmarks.pages.peers_plot import OURS, THEIRS, charts, draw
from tools.benchmarks.pages.report import Report, Row
from tools.benchmarks.peers.cases import CASES, row_of

ROWS = [
    Row("1-1: heronry", 400_000.0),
    Row("1-1: nats-c", 250_000.0),
    Row("1-1: zmq-c", 0.0, flaw="zmq-c: lost 1"),
    Row("1-1: redis-c", 0.0, missing="not installed"),
    Row("500/s: heronry", 0.25),
    Row("1-1: heronry / nats-c", 1.6),
]


def test_there_is_a_bar_for_each_figure_with_its_unit_and_ours_stand_out() -> None:
    one, late = charts(ROWS)
    assert (one.title, late.title) == (
        "1→1, 100 B: msg/s, more is better",
        "500/s, 100 B, p50: ms, less is better",
    )
    assert [(bar.who, bar.value, bar.text, bar.colour) for bar in one.bars] == [
        ("heronry", 400_000.0, "400,000 msg/s", OURS),
        ("nats-c", 250_000.0, "250,000 msg/s", THEIRS),
        ("zmq-c", 0.0, "no result", THEIRS),
    ]
    assert [bar.text for bar in late.bars] == ["0.25 ms"]


def test_every_case_can_be_drawn_on_a_page_that_needs_nothing_else(tmp_path: Path) -> None:
    rows = [Row(row_of(name, who), 7.5) for name, case in CASES.items() for who in case.who]
    assert len(charts(rows)) == len(CASES)
    draw(rows, tmp_path / "new" / "peers.html")
    page = (tmp_path / "new" / "peers.html").read_text()
    assert page.count('"7.5 ms"') == sum(len(case.who) for case in CASES.values() if case.rate)
    assert "Heronry beside its peers" in page and "<script src=" not in page


def given(monkeypatch: pytest.MonkeyPatch, *words: str) -> catalog.Options:
    monkeypatch.setattr(sys, "argv", ["tools/bench", *words])
    return bench.arguments()


def test_the_command_passes_cases_on_and_draws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[Any] = []

    def measured(*arguments: Any) -> Report:
        asked.append(arguments)
        return Report("peers", ROWS)

    monkeypatch.setattr(contest, "measured", measured)
    page = tmp_path / "peers.html"
    words = ("--cases", "1-1,curve", "--peers", "zmq-py", "--plot", str(page))
    catalog.measure_peers(given(monkeypatch, "all", *words), lambda: None)
    assert not page.exists(), "the page is the one of spark"
    catalog.measure_peers(given(monkeypatch, "peers", *words), lambda: None)
    assert '"400,000 msg\\u002fs"' in page.read_text() or '"400,000 msg/s"' in page.read_text()
    assert asked[0][-1] == asked[1][-1] == ["1-1", "curve"]


def test_an_unknown_case_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        given(monkeypatch, "peers", "--cases", "1-1,rabbits")
    assert "no case is called 'rabbits'; there are 1-1, " in capsys.readouterr().err
