"""The part `growth` of tools/bench: all chosen curves, and their report."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from tools.benchmarks.growth.curves import EXPERIMENTS, Experiment
from tools.benchmarks.growth.following import LIMIT, follow, sizes
from tools.benchmarks.pages.growth_plot import draw
from tools.benchmarks.pages.growth_rows import rows
from tools.benchmarks.pages.report import Report


def steps(most: int | None, chosen: Sequence[Experiment] = EXPERIMENTS) -> int:
    return sum(len(sizes(experiment, most)) for experiment in chosen)


def with_words(text: str) -> Sequence[Experiment]:
    """Return the experiments whose names contain one of the comma-separated words; all without a word.

    Raises ArgumentTypeError if a word is in no name.
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if not any(word in experiment.name for experiment in EXPERIMENTS):
            known = ", ".join(repr(experiment.name) for experiment in EXPERIMENTS)
            raise argparse.ArgumentTypeError(f"{word!r} stands in no curve's name; there are {known}")
    return [x for x in EXPERIMENTS if not words or any(word in x.name for word in words)]


def measured(
    most: int | None,
    plot: Path | None,
    advance: Callable[[], None],
    chosen: Sequence[Experiment] = EXPERIMENTS,
    limit: float = LIMIT,
) -> Report:
    """Measure the curves up to the size `most`, or to their defaults if it is None.

    A curve ends before a size that is expected to take more than `limit` seconds. `plot` is the file for a
    plot; None means no plot.
    """
    curves = [follow(experiment, most, advance, limit) for experiment in chosen]
    if plot is not None:
        draw(curves, plot)
    details = {
        curve.experiment.name: [{"size": size, **values} for size, values in curve.values] for curve in curves
    }
    return Report("growth", [row for curve in curves for row in rows(curve)], details)
