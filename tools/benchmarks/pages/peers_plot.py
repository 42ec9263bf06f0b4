"""A chart for each case: a bar for each client, ours in another color."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import plotly.graph_objects as go  # type: ignore[import-untyped]
from plotly.subplots import make_subplots  # type: ignore[import-untyped]

from tools.benchmarks.pages.report import Row, number
from tools.benchmarks.peers.cases import CASES, row_of
from tools.benchmarks.peers.who import PEERS

OURS, THEIRS = "#d9480f", "#adb5bd"
BAR, SPACE = 26, 90  # pixels of a bar, and around each case


@dataclass(frozen=True, slots=True)
class Bar:
    who: str
    value: float
    text: str
    colour: str


@dataclass(frozen=True, slots=True)
class Chart:
    """The chart of one case."""

    title: str
    bars: Sequence[Bar]


def charts(rows: Sequence[Row]) -> list[Chart]:
    """Return a chart for each case with results, without clients that are not installed."""
    here = {row.name: row for row in rows if not row.missing}
    found = []
    for name, case in CASES.items():
        bars = [bar(who, here[row_of(name, who)]) for who in case.who if row_of(name, who) in here]
        if bars:
            found.append(
                Chart(f"{case.what}: {case.unit}, {'less' if case.rate else 'more'} is better", bars)
            )
    return found


def bar(who: str, row: Row) -> Bar:
    """Return the bar of a client; a flawed run has length 0."""
    text = "no result" if row.flaw else f"{number(row.measured)} {row.goal.unit}"
    return Bar(who, 0.0 if row.flaw else row.measured, text, OURS if PEERS[who].is_ours else THEIRS)


def draw(rows: Sequence[Row], path: Path) -> None:
    found = charts(rows)
    heights = [BAR * len(chart.bars) + SPACE for chart in found]
    figure = make_subplots(
        rows=len(found),
        cols=1,
        subplot_titles=[chart.title for chart in found],
        row_heights=heights,
        vertical_spacing=0.6 * SPACE / sum(heights),
    )
    for row, chart in enumerate(found, start=1):
        figure.add_trace(_bars(chart), row=row, col=1)
    figure.update_yaxes(autorange="reversed")  # the first is on top
    figure.update_layout(
        title="Heronry beside its peers",
        template="plotly_white",
        height=sum(heights) + SPACE,
        width=1000,
        showlegend=False,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.write_html(path, include_plotlyjs=True)


def _bars(chart: Chart) -> go.Bar:
    return go.Bar(
        x=[each.value for each in chart.bars],
        y=[each.who for each in chart.bars],
        text=[each.text for each in chart.bars],
        marker_color=[each.colour for each in chart.bars],
        orientation="h",
        textposition="auto",
    )
