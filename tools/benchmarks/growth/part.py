"""All curves, as a part of the benchmark."""

from collections.abc import Callable
from pathlib import Path

from tools.benchmarks.growth.curves import EXPERIMENTS
from tools.benchmarks.growth.following import follow, sizes
from tools.benchmarks.growth.plot import draw
from tools.benchmarks.growth.telling import rows
from tools.benchmarks.report import Report


def steps(most: int | None) -> int:
    return sum(len(sizes(experiment, most)) for experiment in EXPERIMENTS)


def measured(most: int | None, plot: Path | None, advance: Callable[[], None]) -> Report:
    """Sizes up to `most`, or as usual; `plot`: where a picture is put."""
    curves = [follow(experiment, most, advance) for experiment in EXPERIMENTS]
    if plot is not None:
        draw(curves, plot)
    details = {
        curve.experiment.name: [{"size": size, **values} for size, values in curve.values] for curve in curves
    }
    return Report("growth", [row for curve in curves for row in rows(curve)], details)
