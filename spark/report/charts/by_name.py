"""Charts of values by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import log10

from mesh.history.report.charts.drawing import (
    COLOURS,
    SCALE,
    Chart,
    Figure,
    Values,
    chart,
    colour_bar,
    height_of,
    name,
    names_beside,
    rounded,
)
from mesh.history.report.figures import decimal

WRITTEN = 12  # most columns with figures in their cells
SYMBOLS = ("circle", "diamond-open", "square-open")


@dataclass(frozen=True, slots=True)
class Dots:
    """A value for each name, and optionally its interval from `low` to `high`."""

    values: Values
    low: Values = ()
    high: Values = ()


def dots(names: Sequence[str], rows: Mapping[str, Dots], unit: str) -> Chart:
    """Return a chart with a row for each name, the first at the top, and in it a dot for each of `rows`."""
    figure = Figure()
    for number, (sort, these) in enumerate(rows.items()):
        colour = COLOURS[number]
        line = {"width": 2, "color": colour}
        figure.add_scatter(
            x=rounded(these.values),
            y=[*map(name, names)],
            name=sort,
            mode="markers",
            error_x=_errors(these, colour),
            marker={"color": colour, "size": 10, "symbol": SYMBOLS[number], "line": line},
            hovertemplate=f"%{{y}}<br>{escape(sort)}: %{{x:,}} {escape(unit)}<extra></extra>",
        )
    figure.update_yaxes(autorange="reversed", **names_beside(names))
    figure.update_xaxes(rangemode="tozero", title_text=escape(unit), tickformat=",~r")
    return chart(figure, height_of(len(names), 110), hovermode="closest")


def _errors(these: Dots, colour: str) -> dict[str, object] | None:
    if not these.low:
        return None
    over, under = (_distances(these.values, ends) for ends in (these.high, these.low))
    return {
        "type": "data",
        "symmetric": False,
        "array": over,
        "arrayminus": under,
        "color": colour,
        "thickness": 2,
    }


def _distances(values: Values, ends: Values) -> list[float]:
    pairs = zip(values, ends, strict=True)
    return [0 if value is None or end is None else abs(end - value) for value, end in pairs]


def bars(names: Sequence[str], values: Values, unit: str) -> Chart:
    """Return a chart with a bar for each name, the first at the top."""
    figure = Figure()
    figure.add_bar(
        x=rounded(values),
        y=[*map(name, names)],
        orientation="h",
        marker={"color": COLOURS[0]},
        hovertemplate=f"%{{y}}<br>%{{x:,}} {escape(unit)}<extra></extra>",
    )
    figure.update_yaxes(autorange="reversed", **names_beside(names))
    figure.update_xaxes(title_text=escape(unit), tickformat=",~r")
    return chart(figure, height_of(len(names), 70), hovermode="closest", bargap=0.35)


def matrix(rows: Sequence[str], columns: Sequence[str], cells: Sequence[Values], unit: str) -> Chart:
    """Return a matrix whose colors have a logarithmic scale.

    Cells that are not above 0 stay empty.
    """
    logs = [[log10(value) if value and value > 0 else None for value in row] for row in cells]
    ticks = _ticks([value for row in logs for value in row if value is not None])
    bar = colour_bar(unit) | {
        "tickvals": [*map(log10, ticks)],
        "ticktext": [f"{tick:,.3g}" for tick in ticks],
    }
    figure = Figure()
    figure.add_heatmap(
        x=[*map(name, columns)],
        y=[*map(name, rows)],
        z=[rounded(row) for row in logs],
        customdata=[rounded(row) for row in cells],
        colorscale=SCALE,
        colorbar=bar,
        hoverongaps=False,
        hovertemplate=f"%{{y}} to %{{x}}: %{{customdata}} {escape(unit)}<extra></extra>",
    )
    if len(columns) <= WRITTEN:
        texts = [["" if value is None else decimal(value) for value in row] for row in cells]
        figure.update_traces(text=texts, texttemplate="%{text}")
    figure.update_xaxes(**names_beside(columns))
    figure.update_yaxes(autorange="reversed", **names_beside(rows))
    return chart(
        figure,
        height_of(len(rows), 170),
        plot_bgcolor="var(--none)",
        xaxis_showgrid=False,
        yaxis_showgrid=False,
    )


def _ticks(logs: Sequence[float]) -> list[float]:
    low, high = min(logs), max(logs)
    for steps in ((1, 2, 5), (1,)):
        ticks = [step * 10.0**power for power in range(-6, 10) for step in steps]
        shown = [tick for tick in ticks if low <= log10(tick) <= high]
        if 2 <= len(shown) <= 7:
            return shown
    return [10**low, 10**high]
