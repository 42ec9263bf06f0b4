"""Plots of time and memory against size, both logarithmic, a row for each experiment."""

from collections.abc import Sequence
from pathlib import Path

import plotly.graph_objects as go  # type: ignore[import-untyped]
from plotly.subplots import make_subplots  # type: ignore[import-untyped]

from tools.benchmarks.growth.following import Followed
from tools.benchmarks.growth.slopes import named, slope

HIGH = 340  # pixels of a row
COLUMNS = {"s": 1, "B": 2}


def draw(curves: Sequence[Followed], path: Path) -> None:
    titles = [f"{curve.experiment.name}, {what}" for curve in curves for what in ("time in s", "bytes")]
    figure = make_subplots(rows=len(curves), cols=2, subplot_titles=titles)
    for row, curve in enumerate(curves, start=1):
        _draw_row(figure, row, curve)
    figure.update_xaxes(type="log")
    figure.update_yaxes(type="log")
    figure.update_layout(
        title="How time and memory grow",
        template="plotly_white",
        height=HIGH * len(curves),
        width=1400,
        legend={"tracegroupgap": 60},
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.write_html(path, include_plotlyjs=True)


def _draw_row(figure: go.Figure, row: int, curve: Followed) -> None:
    for each in curve.experiment.figures:
        points = curve.points(each)
        exponent = slope(points)
        growth = "" if exponent is None else f": {exponent:.2f}, {named(exponent)}"
        line = go.Scatter(
            x=[size for size, _ in points],
            y=[value for _, value in points],
            mode="lines+markers",
            name=f"{each.what}{growth}",
            legendgroup=curve.experiment.name,
            legendgrouptitle_text=curve.experiment.name,
        )
        figure.add_trace(line, row=row, col=COLUMNS[each.unit])
