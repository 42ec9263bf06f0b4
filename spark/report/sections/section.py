"""Sections of the page, and the layout of charts and tables in them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from mesh.history.report.charts.drawing import Chart
from mesh.history.report.charts.over_time import Axis
from mesh.history.report.facts import Facts, Values
from mesh.history.report.figures import counted
from mesh.history.report.markup import Html, raw, table, tag
from mesh.history.report.sampling import mean, most

FEW = 8  # nodes that are distinguishable as lines
SHOWN = 10  # rows of a truncated table
FIRST = 15  # rows shown of a searchable table
LOW = 5  # rows of a table that is never folded


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page.

    `name` is its anchor. `how` explains the section in a few sentences, with units.
    """

    name: str
    title: str
    how: str
    body: Html


def nothing(text: str) -> Html:
    """Return a paragraph of plain text, such as one that replaces an empty chart."""
    return tag("p", text, class_="nothing")


def drawn(key: str, title: str, chart: Chart, text: str) -> Html:
    """Return a chart with its title, and `text` as its accessible description."""
    # Scripts have no entities, so the characters that could end the script are escaped as JSON.
    figure = raw(chart.json.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
    return tag(
        "figure",
        tag("h3", title),
        tag(
            "div",
            class_="chart",
            role="img",
            aria_label=text,
            data_figure=f"figure-{key}",
            style=f"height: {chart.height}px",
        ),
        tag("script", figure, type="application/json", id=f"figure-{key}"),
    )


def in_words(rows: Mapping[str, Values], unit: str, write: Callable[[float | None], str]) -> str:
    """Return a description of a chart over time, of at most FEW rows, for people who cannot see it.

    `write` formats a value.
    """
    told = [f"{name} {write(mean(values))}, at most {write(most(values))}" for name, values in rows.items()]
    rest = f"; and {len(told) - FEW:,} more" if told[FEW:] else ""
    return f"{unit}. Means and peaks: {'; '.join(told[:FEW])}{rest}."


def worst(
    caption: str, header: Sequence[str], rows: Sequence[Sequence[Any]], words: int = 1, shown: int = SHOWN
) -> Html:
    """Return a table of the first `shown` rows, with the number of the others."""
    left = len(rows) - shown
    more = tag("span", f" and {left:,} more", class_="more") if left > 0 else None
    whole = table([caption, more], header, rows[:shown], words, label=caption)
    return _foldable(caption, whole, min(len(rows), shown))


def findable(
    key: str, caption: str, header: Sequence[str], rows: Sequence[Sequence[Any]], words: int = 1
) -> Html:
    """Return a table of all rows.

    A long table shows its first rows and a search field.
    """
    whole = table(caption, header, rows, words, label=caption)
    if len(rows) <= FIRST:
        return _foldable(caption, whole, len(rows))
    tools = tag(
        "div",
        tag("label", "Find a node", for_=f"find-{key}"),
        tag("input", type="search", id=f"find-{key}", autocomplete="off"),
        tag("button", type="button"),
        class_="tools",
        data_first=FIRST,
        hidden=True,
    )
    return _foldable(caption, raw(tools + whole), len(rows))


def _foldable(caption: str, whole: Html, rows: int) -> Html:
    """Return the table as an element that page.js folds on a phone, unless it has at most LOW rows.

    On a phone each row is a card. In a wider window the table is open and looks unchanged.
    """
    if rows <= LOW:
        return whole
    summary = tag("summary", caption, tag("span", f" ({counted(rows, 'row')})", class_="more"))
    return tag("details", summary, whole, class_="fold", open=True)


def axis(facts: Facts) -> Axis:
    """Return the time axis of all charts."""
    return Axis(facts.times, timedelta(seconds=facts.width_s))


def milliseconds(values: Values) -> Values:
    return tuple(None if value is None else 1000 * value for value in values)
