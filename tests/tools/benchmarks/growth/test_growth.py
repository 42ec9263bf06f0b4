"""The benchmark of growth: its sizes, slopes and rows, and the experiments behind its curves."""

import argparse
import json
from pathlib import Path

import pytest

from tools.benchmarks.growth import point, processes, subscriptions
from tools.benchmarks.growth.curves import EXPERIMENTS, Experiment, Figure
from tools.benchmarks.growth.following import REAL, Followed, expected, follow, sizes
from tools.benchmarks.growth.slopes import ladder, named, slope, tail
from tools.benchmarks.measures import growth as part
from tools.benchmarks.pages.goals import GOALS
from tools.benchmarks.pages.growth_plot import draw
from tools.benchmarks.pages.growth_rows import at_powers, rows, scaled
from tools.running.processes import Failed

MAKE, EACH = Figure("make", "all are made", 1.15), Figure("bytes", "each", 0.3, "B")
FEW = Experiment("exact subscriptions", 10, 100, 1_000, (MAKE, EACH))


def followed(*points: tuple[int, float], **said: str) -> Followed:
    return Followed(FEW, [(size, {"make": value, "bytes": 500.0}) for size, value in points], **said)


@pytest.mark.parametrize(
    ("power", "name"),
    [
        (0, "constant"),
        (0.5, "less than linear"),
        (1, "linear"),
        (1.5, "superlinear"),
        (2, "quadratic"),
        (3, "worse than quadratic"),
    ],
)
def test_the_slope_is_the_power_by_which_it_grows(power: float, name: str) -> None:
    found = slope([(size, 3e-6 * size**power) for size in (10, 100, 1_000)])
    assert found is not None and found == pytest.approx(power) and named(found) == name


def test_growth_is_read_from_large_sizes_and_not_from_nothing() -> None:
    points = [(1, 5.0), (10, 5.0), (1_000, 0.0), (10_000, 1.0), (100_000, 10.0)]
    assert tail(points) == points[3:]
    assert slope(points) == pytest.approx(1)
    assert slope(points[:1]) is None and slope([]) is None


def test_sizes_grow_by_about_three() -> None:
    assert list(ladder(1, 3_200)) == [1, 3, 10, 32, 100, 320, 1_000, 3_200]
    assert list(ladder(3, 60)) == [3, 10, 32, 60] and list(ladder(3, 40)) == [3, 10, 32]
    assert (sizes(FEW, None), sizes(FEW, 10**9)[-1]) == ([10, 32, 100], 1_000)
    assert sizes(FEW, 1) == [10]


def test_every_curve_has_a_goal_and_something_that_measures_it() -> None:
    assert {each.name for each in EXPERIMENTS} == point.MEASURES.keys() | REAL.keys()
    assert all(
        GOALS[each.row(figure)].limit == figure.limit for each in EXPERIMENTS for figure in each.figures
    )


def test_a_row_tells_the_slope_its_name_and_the_figures() -> None:
    good, flat = rows(followed((10, 0.001), (32, 0.0032), (100, 0.01)))
    assert good.measured == pytest.approx(1) and good.is_good
    assert good.note == "linear: 10 1 ms · 100 10 ms"
    assert flat.measured == 0 and flat.note == "constant: 10 500 B · 100 500 B"
    bad = rows(followed((10, 0.001), (100, 0.1), ended="1,000 took too long"))[0]
    assert not bad.is_good and not bad.flaw and bad.note.endswith("; 1,000 took too long")
    assert rows(followed((10, 0.001))) == []
    assert [row.flaw for row in rows(followed((10, 0.001), wrong="one is lost"))] == ["one is lost"] * 2


def test_figures_have_few_digits() -> None:
    assert [scaled(v, "s") for v in (12.3, 0.0456, 78.9e-6, 345e-6)] == ["12 s", "46 ms", "79 µs", "345 µs"]
    assert [scaled(v, "B") for v in (0.0, 512.0, 2_300.0, 4.5e6)] == ["0 B", "512 B", "2.3 kB", "4.5 MB"]
    assert at_powers([(3, 1.0), (10, 2.0), (32, 3.0)], "s") == "10 2 s · 32 3 s"


def test_what_would_take_too_long_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    assert expected([], 10) == 0
    assert expected([(10, 1.0)], 100) == pytest.approx(10)
    assert expected([(10, 1.0), (100, 100.0)], 1_000) == pytest.approx(10_000)
    assert expected([(10, 0.01), (100, 100.0)], 1_000) == pytest.approx(10_000), "one was late by chance"
    monkeypatch.setitem(REAL, FEW.name, lambda size: {"make": 1.0, "bytes": 1.0})
    found = follow(FEW, None, lambda: None, limit=0.0)
    assert [size for size, _ in found.values] == [10] and found.ended == "32 would take longer than 0 s"


def test_what_goes_wrong_is_told_and_ends_the_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(size: int) -> dict[str, float]:
        raise Failed("one is lost")

    monkeypatch.setitem(REAL, FEW.name, fails)
    done: list[None] = []
    found = follow(FEW, None, lambda: done.append(None))
    assert (found.values, found.wrong, len(done)) == ([], "with 10: one is lost", 3)


def test_curves_are_chosen_by_words_of_their_names() -> None:
    assert [each.name for each in part.with_words("stored, real")] == [
        "real connections",
        "stored messages",
        "nodes, real",
    ]
    assert list(part.with_words("")) == list(EXPERIMENTS)
    with pytest.raises(
        argparse.ArgumentTypeError, match="'unreal' stands in no curve's name; there are 'exact"
    ):
        part.with_words("stored,unreal")


@pytest.mark.parametrize("name", point.MEASURES)
def test_each_experiment_measures_what_it_says(name: str) -> None:
    [experiment] = [each for each in EXPERIMENTS if each.name == name]
    found = point.MEASURES[name](experiment.least)
    assert found.keys() == {figure.key for figure in experiment.figures}
    assert all(value >= 0 for value in found.values())


def test_a_message_that_does_not_come_leaves_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "TEXTS", {"pattern": "elsewhere/{}/+", "exact": "room/{}/temp"})
    with pytest.raises(AssertionError, match="0 of 1000 messages came"):
        subscriptions.pattern(10)


@pytest.mark.slow
def test_a_whole_run_with_few_is_clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    chosen = [each for each in EXPERIMENTS if each.name in ("clients", "real connections", "nodes, real")]
    monkeypatch.setattr(processes, "SETTLING", 0.2)
    monkeypatch.setattr(processes, "IDLE", 1.0)
    done: list[None] = []
    report = part.measured(3, tmp_path / "new" / "growth.html", lambda: done.append(None), chosen)
    assert [row.flaw for row in report.rows if row.flaw] == []
    assert len(done) == part.steps(3, chosen) == 3
    assert {size for told in report.details.values() for size in [row["size"] for row in told]} == {3, 10}
    assert json.loads(json.dumps(report.details))["clients"][0]["size"] == 10
    assert "plotly" in (tmp_path / "new" / "growth.html").read_text()


def test_a_picture_needs_nothing_else(tmp_path: Path) -> None:
    draw([followed((10, 0.001), (100, 0.01))], tmp_path / "growth.html")
    page = (tmp_path / "growth.html").read_text()
    assert "all are made: 1.00, linear" in page and "<script src=" not in page
