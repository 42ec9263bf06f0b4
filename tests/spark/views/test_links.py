"""The matrix of links between nodes, with their round trips."""

import pytest
from pyspark.sql import SparkSession

from mesh.history.views import links
from tests.spark.views.histories import event, history, link, told

pytestmark = pytest.mark.spark


def test_a_link_is_told_by_its_last_state_and_its_round_trips(session: SparkSession) -> None:
    rows = [link("heron", "egret", 10 * at, rtt=at / 1000) for at in range(1, 101)]
    rows += [link("heron", "egret", 5, state="polling", rtt=None)]
    rows += [event("link", "heron", "egret", 1005, text="egret: logged out")]
    rows += [event("link", "heron", "egret", 1, text="egret: logged in")]
    rows += [event("joined", "heron", "egret", 0), link("egret", "heron", 3, state="polling", rtt=None)]
    found = told(links.matrix(history(session, rows)), "observer", "node")
    assert found["heron", "egret"] == {
        "observer": "heron",
        "node": "egret",
        "state": "logged in",
        "rtt_median_ms": 50.0,
        "rtt_p95_ms": 95.0,
        "logged_in_share": pytest.approx(100 / 101),
        "lines": 101,
        "lost": 1,
        "last_at": 1000.0,
    }
    assert found["egret", "heron"]["rtt_median_ms"] is None
    assert found["egret", "heron"]["logged_in_share"] == 0.0


def test_a_link_that_was_lost_before_any_line_of_it_is_in_the_matrix(session: SparkSession) -> None:
    rows = [event("link", "heron", "egret", 5, text="egret: logged out")]
    found = told(links.matrix(history(session, rows)), "node")["egret"]
    assert (found["lost"], found["lines"], found["state"], found["logged_in_share"]) == (1, 0, None, None)
