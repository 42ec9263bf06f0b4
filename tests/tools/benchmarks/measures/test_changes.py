"""The benchmark of rule changes: its figures, and the flaws that it finds. Its speed is not tested."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.netlab import require
from tools.benchmarks.loads.figures import Count
from tools.benchmarks.measures import changes
from tools.benchmarks.measures.changes import ALONE, FIRST, Change, Found, Trial, told
from tools.benchmarks.pages.goals import GOALS


def test_every_figure_has_its_goal_also_where_no_machines_can_be_made() -> None:
    report = told(Found(), "network namespaces need root")
    assert all(row.name in GOALS and row.missing for row in report.rows)


def test_the_farthest_node_counts_and_what_a_cut_made_of_it_is_told() -> None:
    changed = [Change(0.1, 0.3, "golan", False)] * 98 + [Change(1.5, 5.0, "frodo", True)] * 2
    rows = {row.name: row for row in told(Found(changed, healed=[0.9, 0.7, 1.8])).rows}
    assert [rows[name].measured for name in changes.ROWS] == [0.1, 1.5, 1.5, 0.9]
    assert "2 while one is cut off: worst 1.5 s" in rows["ruled, p99"].note
    assert "OK after 5 s at most" in rows["ruled, worst"].note
    assert "worst of 3: 1.8 s" in rows["ruled, healed"].note


@pytest.mark.parametrize("count", [Count(lost=1), Count(doubled=2)])
def test_where_something_was_lost_or_doubled_there_is_no_figure(count: Count) -> None:
    assert all(row.flaw for row in told(Found([Change(0.1, 0.1, "golan", False)], count=count)).rows)


@pytest.mark.parametrize(
    ("name", "route", "is_by"),
    [
        ("golan", ["golan", "bilbo", "heron"], True),
        ("golan", ["golan", "bilbo"], True),
        ("golan", ["golan", "avalon", "heron"], False),  # by the former rule
        ("bilbo", ["bilbo", "heron"], True),
        ("bilbo", ["bilbo", "avalon", "heron"], False),
        (FIRST, [FIRST, "bilbo", FIRST], True),
        (FIRST, [FIRST], False),
        (ALONE, [], False),
    ],
)
def test_a_message_went_by_the_rule_if_its_first_node_sent_it_to_the_master(
    name: str, route: list[str], is_by: bool
) -> None:
    trial = cast(Any, Trial.__new__(Trial))
    trial._master = "bilbo"
    assert trial._is_by(name, route) == is_by


@pytest.mark.slow
def test_a_few_real_changes_lose_nothing(place: Any) -> None:
    require()
    done: list[None] = []
    report = changes.measured(6, 1, lambda: done.append(None))
    assert [row.flaw for row in report.rows] == [""] * len(changes.ROWS) and len(done) == 6
    is_cut = [change["is_cut"] for change in report.details["changes"]]
    assert is_cut == [False, False, True, True, True, False]
    assert len(report.details["healed"]) == 1
