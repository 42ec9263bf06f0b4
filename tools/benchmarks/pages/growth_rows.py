"""Report rows of a curve: its exponent, and its values at powers of ten and at the largest size."""

from math import log10

from tools.benchmarks.growth.curves import Experiment, Figure
from tools.benchmarks.growth.following import Followed
from tools.benchmarks.growth.slopes import Points, named, slope
from tools.benchmarks.pages.report import Row

SCALES = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
}


def rows(found: Followed) -> list[Row]:
    """Return a row for each figure with an exponent, or for every figure if the curve ended with an error."""
    experiment = found.experiment
    told = []
    for figure in experiment.figures:
        points = found.points(figure)
        exponent = slope(points)
        if exponent is not None or found.wrong:
            told.append(_row(experiment, figure, points, exponent or 0.0, found))
    return told


def _row(experiment: Experiment, figure: Figure, points: Points, exponent: float, found: Followed) -> Row:
    note = f"{named(exponent)}: {at_powers(points, figure.unit)}"
    # A shrinking figure is no better than a constant one, so it has no goal.
    return Row(
        experiment.row(figure),
        max(exponent, 0.0),
        f"{note}; {found.ended}" if found.ended else note,
        found.wrong,
    )


def at_powers(points: Points, unit: str) -> str:
    """Return the values at powers of ten and at the largest size, such as `10 1.2 ms · 100 11 ms`."""
    shown = [point for point in points if log10(point[0]) % 1 == 0 or point is points[-1]]
    return " · ".join(f"{size:,.0f} {scaled(value, unit)}" for size, value in shown)


def scaled(value: float, unit: str) -> str:
    """Return a value with a prefix that leaves few digits."""
    scales = SCALES[unit]
    factor, name = next((scale for scale in scales if value >= scale[0]), scales[-1])
    number = value / factor
    return f"{number:.0f} {name}" if number >= 99.5 else f"{number:.2g} {name}"
