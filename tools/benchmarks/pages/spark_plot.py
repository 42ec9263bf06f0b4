"""A plot of Spark's time and memory against lines, as a self-contained HTML page."""

from collections.abc import Sequence
from pathlib import Path

import plotly.graph_objects as go  # type: ignore[import-untyped]
from plotly.subplots import make_subplots  # type: ignore[import-untyped]

from tools.benchmarks.loads.spark_measured import Measured

MILLION = 1_000_000


def draw(runs: Sequence[Measured], path: Path) -> None:
    lines = [run.lines / MILLION for run in runs]
    figure = make_subplots(rows=1, cols=2, subplot_titles=("time", "memory, JVM and Python"))
    for name, seconds in {
        "ingest and views": [run.seconds for run in runs],
        "ingest": [run.ingest for run in runs],
        "views": [run.views for run in runs],
    }.items():
        figure.add_trace(go.Scatter(x=lines, y=seconds, name=name, mode="lines+markers"), row=1, col=1)
    last = runs[-1].seconds / lines[-1]
    straight = go.Scatter(
        x=[0, lines[-1]], y=[0, lines[-1] * last], name="in proportion", mode="lines", line={"dash": "dot"}
    )
    figure.add_trace(straight, row=1, col=1)
    memory = [run.memory for run in runs]
    figure.add_trace(go.Scatter(x=lines, y=memory, name="resident", mode="lines+markers"), row=1, col=2)
    figure.update_xaxes(title_text="million lines", rangemode="tozero")
    figure.update_yaxes(title_text="s", rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title_text="MB", rangemode="tozero", row=1, col=2)
    figure.update_layout(title="Ingest and all views, warm, on local[2]", template="plotly_white")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.write_html(path, include_plotlyjs=True)
