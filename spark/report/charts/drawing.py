"""Common parts of all charts: colors, fonts, axes, and safe names.

Colors are "var(--…)" of page.css: page.js replaces them by those of the active scheme.
"""

import gzip
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from html import escape
from importlib.resources import files
from math import ceil
from typing import Any

from plotly.graph_objects import Figure as Figure  # type: ignore[import-untyped]

from mesh.history.report.figures import short

Values = Sequence[float | None]

COLOURS = tuple(f"var(--c{number})" for number in range(1, 9))
SCALE = [[step / 4, f"var(--h{step})"] for step in range(5)]
ROW, TALLEST, NAMED = 20, 620, 40  # pixels of one row, and of all rows at most; most names beside an axis
FONT = {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif", "size": 13}


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart as JSON for Plotly, `height` pixels high."""

    json: str
    height: int


@dataclass(frozen=True, slots=True)
class Library:
    """Plotly's JavaScript: `packed` as a page embeds it (gzip in base64), and as `text`."""

    packed: str
    text: str


@cache
def library() -> Library:
    """Return the part of Plotly for charts with axes, which tools/plotly extracts from the whole library."""
    found = files("mesh.history.report.charts").joinpath("plotly.js.gz").read_bytes()
    return Library(b64encode(found).decode(), gzip.decompress(found).decode())


def chart(figure: Figure, height: int, **layout: Any) -> Chart:
    """Return the figure in the report's style; `layout` takes precedence."""
    figure.update_layout(
        template="none",
        height=height,
        margin={"l": 8, "r": 12, "t": 8, "b": 8},
        dragmode=False,
        font=FONT | {"color": "var(--ink)"},
        paper_bgcolor="var(--surface)",
        plot_bgcolor="var(--surface)",
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "traceorder": "normal"},
        hoverlabel={"bgcolor": "var(--raised)", "bordercolor": "var(--line)", "font_color": "var(--ink)"},
    )
    for axes in (figure.update_xaxes, figure.update_yaxes):
        axes(
            automargin=True,
            fixedrange=True,
            tickfont_color="var(--muted)",
            title_font={"color": "var(--muted)", "size": 13},
            gridcolor="var(--grid)",
            linecolor="var(--line)",
            zerolinecolor="var(--line)",
        )
    figure.update_layout(**layout)
    return Chart(figure.to_json(), height)


def name(text: str) -> str:
    """Return the text escaped, because Plotly interprets a subset of HTML."""
    return escape(text, quote=False)


def names_beside(names: Sequence[str]) -> dict[str, Any]:
    """Return the layout of an axis of shortened names, at most NAMED of them."""
    shown = names[:: ceil(len(names) / NAMED) or 1]
    texts = [name(short(text)) for text in shown]
    return {
        "type": "category",
        "tickmode": "array",
        "tickvals": [*map(name, shown)],
        "ticktext": texts,
        "ticks": "outside",
        "ticklen": 6,
        "tickcolor": "var(--clear)",
    }


def height_of(rows: int, rest: int) -> int:
    """Return the height in pixels of `rows` rows, TALLEST at most, plus `rest` for the surroundings."""
    return min(ROW * rows, TALLEST) + rest


def colour_bar(unit: str) -> dict[str, Any]:
    """Return a color bar above the chart, where it needs no width on a narrow page."""
    return {
        "orientation": "h",
        "thickness": 10,
        "len": 0.5,
        "lenmode": "fraction",
        "outlinewidth": 0,
        "x": 0,
        "xanchor": "left",
        "y": 1.0,
        "yanchor": "bottom",
        "title": {"text": escape(unit), "side": "top", "font_size": 13},
    }


def dates(times: Sequence[datetime]) -> list[str]:
    """Return the times in UTC as text without a zone, because a browser would convert them."""
    return [f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S}" for when in times]


def rounded(values: Values) -> list[float | None]:
    """Return the values with four significant digits, which halves the size of the page."""
    return [None if value is None else float(f"{value:.4g}") for value in values]
