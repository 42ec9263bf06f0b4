"""Charts over time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape

from mesh.history.report.charts.drawing import (
    COLOURS,
    SCALE,
    Chart,
    Figure,
    Values,
    chart,
    colour_bar,
    dates,
    height_of,
    name,
    names_beside,
    rounded,
)
from mesh.history.report.sampling import quantile

# As in the tables, and as short as possible.
CLOCK = [
    {"dtickrange": [None, 59_000], "value": "%H:%M:%S\n%Y-%m-%d"},
    {"dtickrange": [59_000, 86_300_000], "value": "%H:%M\n%Y-%m-%d"},
    {"dtickrange": [86_300_000, None], "value": "%Y-%m-%d"},
]
DASHES = ("solid", "dash", "dot", "dashdot")  # so that lines differ without colors
Span = tuple[datetime, datetime]

INVISIBLE = {"width": 0, "color": "var(--clear)"}


@dataclass(frozen=True, slots=True)
class Axis:
    """Buckets of time: the start of each, and their common width."""

    times: Sequence[datetime]
    width: timedelta

    @property
    def edges(self) -> Sequence[datetime]:
        """The start of each bucket, and the end of the last one."""
        return [*self.times, self.times[-1] + self.width] if self.times else []

    @property
    def span(self) -> Span | None:
        """The time from the start of the first bucket to the end of the last; None without buckets."""
        return (self.edges[0], self.edges[-1]) if self.times else None


def lines(axis: Axis, rows: Mapping[str, Values], unit: str) -> Chart:
    """Return a chart with a line for each name, with gaps where values are unknown."""
    figure = Figure()
    for number, (text, values) in enumerate(rows.items()):
        colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
        figure.add_scatter(
            x=dates(axis.times),
            y=rounded(values),
            name=name(text),
            mode="lines",
            line={"color": colour, "dash": dash, "width": 2},
            showlegend=True,
        )
    return _over_time(figure, axis.span, unit, 280)


def bands(axis: Axis, rows: Mapping[str, Values], unit: str) -> Chart:
    """Return a chart of the median of many rows, the range of the middle 80 %, and the maximum, over time."""
    columns = [
        [value for value in column if value is not None] for column in zip(*rows.values(), strict=True)
    ]
    figure, x = Figure(), dates(axis.times)

    def add(label: str, share: float, **looks: object) -> None:
        y = rounded([quantile(column, share) for column in columns])
        figure.add_scatter(x=x, y=y, name=label, mode="lines", **looks)

    add("10 % are below", 0.1, line=INVISIBLE, showlegend=False)
    add("90 % are below", 0.9, line=INVISIBLE, fill="tonexty", fillcolor="var(--band)", showlegend=False)
    add("median node", 0.5, line={"color": COLOURS[0], "width": 2})
    add("highest node", 1.0, line={"color": COLOURS[1], "width": 2, "dash": "dot"})
    return _over_time(figure, axis.span, unit, 280)


def steps(span: Span, changes: Sequence[tuple[datetime, float]], unit: str) -> Chart:
    """Return a chart of a count that changes at given moments, each with the new count."""
    figure = Figure()
    figure.add_scatter(
        x=dates([*(when for when, _ in changes), span[1]]),
        y=rounded([count for _, count in (*changes, *changes[-1:])]),
        mode="lines",
        name=unit,
        showlegend=False,
        line={"color": COLOURS[0], "width": 2, "shape": "hv"},
        fill="tozeroy",
        fillcolor="var(--band)",
    )
    return _over_time(figure, span, unit, 200)


def _over_time(figure: Figure, span: Span | None, unit: str, height: int, hover: str = "x unified") -> Chart:
    figure.update_yaxes(rangemode="tozero", title_text=escape(unit), tickformat=",~r")
    return _dated(figure, span, height, hovermode=hover)


def _dated(figure: Figure, span: Span | None, height: int, **layout: object) -> Chart:
    figure.update_xaxes(
        type="date",
        range=dates(span) if span else None,
        tickangle=0,
        tickformatstops=CLOCK,
        hoverformat="%Y-%m-%d %H:%M:%S",
    )
    return chart(figure, height, **layout)


def heat(axis: Axis, rows: Mapping[str, Values], unit: str, most: float | None = None) -> Chart:
    """Return a heat map of rows over time, the first at the top, from 0 to `most` or the maximum."""
    figure = Figure()
    figure.add_heatmap(
        x=dates(axis.edges),
        y=[*map(name, rows)],
        z=[rounded(values) for values in rows.values()],
        colorscale=SCALE,
        zmin=0,
        zmax=most,
        colorbar=colour_bar(unit),
        hoverongaps=False,
        hovertemplate=f"%{{y}}<br>%{{x}}<br>%{{z}} {escape(unit)}<extra></extra>",
    )
    figure.update_yaxes(autorange="reversed", **names_beside([*rows]))
    return _dated(
        figure, axis.span, height_of(len(rows), 100), plot_bgcolor="var(--none)", xaxis_showgrid=False
    )


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a chart: a period of `row`, and the kind of mark at its end, or empty for no mark."""

    row: str
    since: datetime
    until: datetime
    end: str = ""


def spells(span: Span | None, bars: Sequence[Bar], marks: Mapping[str, tuple[str, str]]) -> Chart:
    """Return a chart with rows of bars over time.

    `marks` maps each kind of end to a symbol and a color.
    """
    rows = list(dict.fromkeys(bar.row for bar in bars))
    figure = Figure()
    figure.add_bar(
        y=[name(bar.row) for bar in bars],
        base=dates([bar.since for bar in bars]),
        orientation="h",
        x=[(bar.until - bar.since).total_seconds() * 1000 for bar in bars],
        name="alive",
        width=0.55,
        marker={"color": "var(--alive)", "line": {"color": "var(--surface)", "width": 1}},
        customdata=dates([bar.until for bar in bars]),
        hovertemplate="%{y} was alive<br>%{base} to %{customdata}<extra></extra>",
    )
    for end, (symbol, colour) in marks.items():
        ended = [bar for bar in bars if bar.end == end]
        figure.add_scatter(
            x=dates([bar.until for bar in ended]),
            y=[name(bar.row) for bar in ended],
            name=end,
            mode="markers",
            cliponaxis=False,
            marker={"symbol": symbol, "size": 10, "color": f"var(--{colour})"},
            hovertemplate=f"%{{y}}: {escape(end)}<br>%{{x}}<extra></extra>",
        )
    figure.update_yaxes(autorange="reversed", categoryorder="array", categoryarray=[*map(name, rows)])
    figure.update_yaxes(**names_beside(rows))
    return _dated(figure, span, height_of(len(rows), 90), barmode="overlay", hovermode="closest")


def points(span: Span | None, rows: Mapping[str, Sequence[tuple[datetime, float, str]]], unit: str) -> Chart:
    """Return a chart of single events, given by kind as (time, value, node)."""
    figure = Figure()
    for number, (sort, happened) in enumerate(rows.items()):
        figure.add_scatter(
            x=dates([when for when, _, _ in happened]),
            y=rounded([much for _, much, _ in happened]),
            customdata=[name(whose) for _, _, whose in happened],
            name=sort,
            mode="markers",
            cliponaxis=False,
            marker={"color": COLOURS[number], "size": 9, "symbol": ("circle", "diamond-open")[number % 2]},
            hovertemplate=f"%{{customdata}}<br>%{{x}}<br>%{{y}} {escape(f'{unit}, {sort}')}<extra></extra>",
        )
    return _over_time(figure, span, unit, 260, hover="closest")
