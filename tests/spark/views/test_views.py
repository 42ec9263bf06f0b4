"""All views: an empty history, lines without figures, and the documented columns."""

import re
from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession

from mesh.history import views
from mesh.history.views import (
    answers,
    balance,
    capacity,
    clocks,
    coverage,
    detection,
    forecast,
    links,
    load,
    membership,
    parts,
    queues,
    services,
    topics,
)
from tests.spark.views.histories import balance as line
from tests.spark.views.histories import event, history, link, queue, service, state, topic

pytestmark = pytest.mark.spark

VIEWS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "clocks.skews": clocks.skews,
    "load.over_time": lambda history: load.over_time(history, 60),
    "balance.counters": balance.counters,
    "balance.quality": balance.quality,
    "membership.timeline": membership.timeline,
    "membership.flapping": membership.flapping,
    "detection.times": detection.times,
    "links.matrix": links.matrix,
    "queues.growth": queues.growth,
    "parts.of_queues": parts.of_queues,
    "topics.busiest": topics.busiest,
    "services.fared": services.fared,
    "services.over_time": lambda history: services.over_time(history, 60),
    "forecast.capacity": forecast.capacity,
    "capacity.idle": capacity.idle,
    "answers.latencies": lambda history: answers.latencies(history, capacity.idle(history)),
    "coverage.rows": coverage.rows,
    "coverage.quarantined": coverage.quarantined,
}
EMPTY_KINDS = [
    state(
        "egret", 0, load=None, cores=None, version=None, up=None, published=None, delivered=None, boot=None
    ),
    event("dead", "egret", "heron", 0, boot=None, age=None),
    link("egret", "heron", 0, state=None, rtt=None, skew=None),
    line("egret", "heron", 0),
    queue("egret", "q", 0, None),
    topic("egret", "t", 0, None, domain=None),
    service("egret", "heron", 0, "x"),
    {"kind": "quarantine", "at": 0},
]


@pytest.mark.parametrize("name", VIEWS)
def test_an_empty_history_says_nothing(session: SparkSession, name: str) -> None:
    assert VIEWS[name](history(session, [])).collect() == []


@pytest.mark.parametrize("name", VIEWS)
def test_lines_without_figures_break_no_view(session: SparkSession, name: str) -> None:
    VIEWS[name](history(session, EMPTY_KINDS)).collect()


@pytest.mark.parametrize("name", VIEWS)
def test_the_columns_are_those_of_the_docs_in_their_order(session: SparkSession, name: str) -> None:
    pages = str(views.__doc__).split("\n\n")[-1]
    page = re.search(rf"^{re.escape(name)}\(.*\n((?:    .*\n)+)", pages, re.MULTILINE)
    assert page is not None
    told = re.sub(r"\([^()]*\)", "", " ".join(page[1].split())).partition(": ")[2].partition(".")[0]
    documented = [word.strip().rstrip(";") for word in re.split(r"[,;]", told)]
    assert VIEWS[name](history(session, [])).columns == documented
