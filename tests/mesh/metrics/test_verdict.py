"""The verdict about a node, from its figures."""

import pytest

from mesh.errors import BadArgument
from mesh.metrics.verdict import CHECKS, Grade, checks_of, findings, line, verdict

WELL = {
    "tailback_age": 0, "disk_free": 5e9, "disk_short": 0, "lag_p99": 0.01, "nodes_suspect": 0,
    "nodes_alive": 3, "queue_age": 0.5, "queue_messages": 7, "sites_away": 0, "clock_apart": 0,
    "transactions_prepared_age": 0.0,
    "transactions_finishing": 0,
}  # fmt: skip


def grade(limits: dict[str, str] | None = None, **figures: float) -> Grade:
    return verdict(findings({**WELL, **figures}, checks_of(limits or {})))


def test_a_node_that_is_well_is_ok_and_each_check_has_a_figure() -> None:
    assert grade() is Grade.OK
    assert {check.figure for check in CHECKS} == WELL.keys()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_each_figure_alone_makes_a_node_unwell_from_its_limit_on(check: object) -> None:
    assert isinstance(check, type(CHECKS[0]))
    if check.is_least:
        limits = {check.name: "2,1"}
        found = [grade(limits, **{check.figure: value}) for value in (2, 1.5, 1, 0.5)]
    else:
        limits = {check.name: "1,2"}
        found = [grade(limits, **{check.figure: value}) for value in (0.5, 1, 1.5, 2)]
    expected = [Grade.OK, Grade.WARNING, Grade.WARNING, Grade.CRITICAL]
    assert found == expected


def test_the_worst_counts_and_nothing_known_is_unknown() -> None:
    assert grade(lag_p99=0.5, tailback_age=1e6) is Grade.CRITICAL
    assert grade(lag_p99=float("nan")) is Grade.UNKNOWN
    assert grade(lag_p99=float("nan"), nodes_suspect=1) is Grade.WARNING
    assert verdict(findings({}, checks_of({}))) is Grade.UNKNOWN


def test_the_line_says_why_and_gives_all_figures() -> None:
    said = line("heron", findings({**WELL, "tailback_age": 61}, checks_of({})))
    assert said.startswith(
        "MESH WARNING - heron: tailback-age 61s | 'tailback-age'=61s;60;600 'disk'=5000000000B;"
    )
    assert line("heron", findings(WELL, checks_of({}))).startswith("MESH OK - heron: tailback-age 0s, disk")


@pytest.mark.parametrize("text", ["", "x", "1,2,3", "nan", "inf,inf", "-1", "1,", "2,1"])
def test_limits_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(BadArgument):
        checks_of({"lag": text})


def test_one_limit_is_for_both_and_least_ones_go_down() -> None:
    assert grade({"lag": "0.005"}) is Grade.CRITICAL
    assert grade({"nodes": "4,2"}) is Grade.WARNING
    with pytest.raises(BadArgument, match="critical before"):
        checks_of({"nodes": "2,4"})
    for check in CHECKS:
        with pytest.raises(BadArgument, match="is not a threshold") as caught:
            checks_of({check.name: "nan"})
        checks_of({check.name: caught.value.hint.split()[-1].rstrip(".")})  # the example in the hint is valid
