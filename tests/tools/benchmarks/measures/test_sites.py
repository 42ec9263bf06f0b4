"""The benchmark of messages to another site, beside peers. Its speed is not tested."""

from pathlib import Path

import pytest

from tests.netlab import require
from tools.benchmarks.measures import sites
from tools.benchmarks.measures.sites import Relayed, told
from tools.benchmarks.pages.goals import GOALS
from tools.benchmarks.sites.rows import bytes_of, rate_of, ratio_of
from tools.benchmarks.sites.sending import Sending


def test_every_figure_and_every_ratio_has_its_goal() -> None:
    report = told({}, "")
    assert all(row.name in GOALS and row.missing for row in report.rows)
    goals = {row.name: (row.goal.limit, row.goal.more) for row in report.rows}
    assert goals[ratio_of("1 KiB", "nats-py")] == goals[ratio_of("100 B", "jgroups")] == (1.0, True)
    assert goals[bytes_of("1 KiB, kept", "heronry")] == (1.1, False)
    assert goals[bytes_of("100 B", "heronry")][0] is None


def test_a_run_that_lost_something_has_no_figure_and_no_ratio() -> None:
    found = {
        ("1 KiB", "heronry"): [Relayed(300.0, 1.06), Relayed(200.0, 1.06)],
        ("1 KiB", "nats-py"): [Relayed(100.0, 1.2), Relayed(100.0, 1.2)],
        ("1 KiB", "jgroups"): [Relayed(100.0, 1.1), Relayed(900.0, 1.1, "3 lost")],
    }
    rows = {row.name: row for row in told(found, "").rows}
    assert rows[rate_of("1 KiB", "heronry")].measured == 250.0
    assert rows[rate_of("1 KiB", "jgroups")].flaw == "3 lost"
    assert rows[ratio_of("1 KiB", "nats-py")].measured == 2.5
    assert rows[ratio_of("1 KiB", "jgroups")].measured == 3.0


def test_where_no_machines_can_be_made_it_says_so() -> None:
    assert {row.missing for row in told({}, "network namespaces need root").rows} == {
        "network namespaces need root"
    }


def test_what_is_sent_is_handed_over_as_text_and_names_its_file() -> None:
    sending = Sending("bench/0", 100, 1024, 16, persistent=True)
    assert Sending.unpacked(sending.packed()) == sending
    assert sending.ready == Path("bench-0.ready")


@pytest.mark.slow
def test_a_tiny_run_of_all_who_are_here_loses_nothing(place: Path) -> None:
    require()
    done: list[None] = []
    report = sites.measured(1, 200, lambda: done.append(None))
    ours = [row for row in report.rows if row.name.endswith("heronry")]
    assert [row.flaw for row in report.rows] == [""] * len(report.rows)
    assert ours and all(row.measured for row in ours)
    assert len(done) == sites.steps(1)
