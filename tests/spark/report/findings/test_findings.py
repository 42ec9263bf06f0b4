"""Findings of a report: problems in plain words and a verdict, and nothing about a calm mesh."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from mesh.history.report.facts import Facts
from mesh.history.report.findings import findings, verdict
from mesh.history.report.findings.finding import BAD, GOOD, NOTE, WARN
from mesh.history.report.message_rows import Parts, Quality, Queue
from mesh.history.report.node_rows import Clock, Detection, Forecast, Life
from mesh.history.report.page import page
from tests.spark.report.invented import END, empty, facts


@pytest.fixture
def calm() -> Facts:
    """Three nodes without a problem."""
    made = facts(3)
    return replace(
        made,
        nodes=tuple(replace(n, lag_s=0.001, cpu_percent=20.0, ram_peak_percent=50.0) for n in made.nodes),
        lives=tuple(life for life in made.lives if life.ended == "there"),
        flapping=(),
        detections=(),
        queues=(),
        parts=(),
        balance=(),
        topics=(),
        services=(),
        forecasts=(),
        quarantined=(),
        links=tuple(replace(link, rtt_median_ms=0.3, logged_in_share=1.0, lost=0) for link in made.links),
        clocks=tuple(replace(clock, skew_s=0.01) for clock in made.clocks),
        coverage=tuple(replace(row, states_lost=0, gap_s=2.0, future=0, past=0) for row in made.coverage),
    )


def told(of: Facts) -> list[tuple[str, str]]:
    return [(finding.rank, finding.text) for finding in findings(of)]


def test_an_address_whose_requests_fail_is_told_and_one_that_nobody_asks_is_not(calm: Facts) -> None:
    one = facts(3).services[0]
    fine = replace(one, requests=1000, replies=960, failed=10, lost=10, refused=10, expired=10)
    bad = replace(one, address="bad", node="", requests=90, refused=9)
    other = replace(bad, address="worse", node="wren", requests=20, refused=20)
    rare = replace(bad, address="rare", requests=9, refused=9)
    text = "Of 20 requests to worse 100 % failed. So did many requests to bad."
    assert told(replace(calm, services=(fine, bad, rare, other))) == [(WARN, text)]
    assert told(replace(calm, services=(fine, rare)))[0][0] == GOOD


def test_of_a_calm_mesh_that_alone_is_said(calm: Facts) -> None:
    ((rank, text),) = told(calm)
    assert rank == GOOD and text.startswith("No node is slow")


def test_the_verdict_is_one_sentence_of_how_many_problems_there_are(calm: Facts) -> None:
    assert verdict(empty()) == "There is no data for this time."
    assert verdict(calm) == f"All is well among {len(calm.nodes)} nodes."
    one = facts(3).services[0]
    odd = replace(one, address="bad", node="", requests=90, refused=90)
    assert (
        verdict(replace(calm, services=(odd,)))
        == f"The mesh works, with 1 finding to check among {len(calm.nodes)} nodes."
    )
    ranks = [finding.rank for finding in findings(facts(3))]
    bad, warn = ranks.count(BAD), ranks.count(WARN)
    assert bad > 1 and warn > 1
    assert verdict(facts(3)) == f"There are {bad} problems, and {warn} findings to check, among 3 nodes."


def test_of_a_time_without_lines_nothing_is_said() -> None:
    assert told(empty()) == []


def test_the_worst_comes_first() -> None:
    ranks = [rank for rank, _ in told(facts(30))]
    assert ranks == sorted(ranks, key=[BAD, WARN, NOTE, GOOD].index)
    assert {BAD, WARN, NOTE} == set(ranks)


@pytest.mark.slow  # for its length
def test_each_finding_leads_to_a_section_of_the_page() -> None:
    text = page(facts(300))
    assert all(f'<section id="{finding.about}"' in text for finding in findings(facts(300)))


def test_a_slow_node_is_named_with_how_late_it_is(calm: Facts) -> None:
    slow = replace(calm, nodes=(replace(calm.nodes[0], name="crane", lag_s=0.24), *calm.nodes[1:]))
    assert (BAD, "crane is slow: its event loop is 240 ms late, that of the typical node 1 ms.") in told(slow)


def on_machines(calm: Facts, *machines: str | None, **figures: Any) -> Facts:
    """Put the three nodes on these machines, all with these figures."""
    nodes = zip(calm.nodes, machines, strict=True)
    return replace(calm, nodes=tuple(replace(node, machine=it, **figures) for node, it in nodes))


def test_nodes_of_one_machine_are_one_finding_and_those_of_unknown_ones_are_their_own(calm: Facts) -> None:
    a, b, c = (node.name for node in calm.nodes)
    used = {"cpu_percent": 97.0}
    one = f"{a} (beside it {b} and {c}) has little CPU left: 97 % in use on average."
    assert told(on_machines(calm, "m", "m", "m", **used)) == [(WARN, one)]
    two = f"{a} (beside it {c}) and {b} have little CPU left: over 85 % in use on average."
    assert told(on_machines(calm, "m", "n", "m", **used)) == [(WARN, two)]
    three = f"{a}, {b} and {c} have little CPU left: over 85 % in use on average."
    assert told(on_machines(calm, None, None, None, **used)) == [(WARN, three)]
    assert told(on_machines(calm, b, None, a, **used)) == [(WARN, three)], "no machine is called as a node"


def test_the_clock_and_the_memory_of_a_machine_are_told_once(calm: Facts) -> None:
    a, b, c = (node.name for node in calm.nodes)
    short = on_machines(calm, "m", "m", None, ram_peak_percent=95.0)
    assert told(short) == [
        (WARN, f"{a} (beside it {b}) and {c} were short of memory: over 92 % of it in use.")
    ]
    clocks = tuple(Clock(node=name, skew_s=7200.0, observers=2) for name in (a, b, c))
    text = f"The clock of {a} (beside it {b} and {c}) is 2 h ahead. The times in this report are corrected."
    assert told(replace(on_machines(calm, "m", "m", "m"), clocks=clocks)) == [(WARN, text)]


def test_a_machine_that_died_is_one_and_a_slow_one_is_named_by_its_slowest_node(calm: Facts) -> None:
    a, b, _ = (node.name for node in calm.nodes)
    dead = tuple(
        Life(node=name, boot=9, first_at=END, last_at=END, ended="dead", ended_at=END) for name in (a, b)
    )
    text = f"2 nodes of one machine died and have not returned: {a} (beside it {b})."
    assert (BAD, text) in told(replace(on_machines(calm, "m", "m", "n"), lives=dead))
    apart = f"2 nodes died and have not returned: {a} and {b}."
    assert (BAD, apart) in told(replace(on_machines(calm, "m", "n", "n"), lives=dead))
    first, second, third = on_machines(calm, "m", "m", "n").nodes
    idle = (replace(third, name=f"idle{n}") for n in range(3))
    slow = replace(calm, nodes=(replace(first, lag_s=0.12), replace(second, lag_s=0.24), third, *idle))
    [(_, said)] = told(slow)
    assert (
        said.startswith(f"{b} (beside it {a}) is slow: its event loop is 240 ms late") and "too" not in said
    )


def test_the_verdict_says_how_many_machines_there_are_if_all_are_known(calm: Facts) -> None:
    assert verdict(on_machines(calm, "m", "n", "m")) == "All is well among 3 nodes on 2 machines."
    assert verdict(on_machines(calm, "m", "m", "m")) == "All is well among 3 nodes on 1 machine."
    assert verdict(on_machines(calm, "m", None, "m")) == "All is well among 3 nodes."


def test_where_all_are_late_alike_none_is_called_slow(calm: Facts) -> None:
    late = replace(calm, nodes=tuple(replace(node, lag_s=0.2) for node in calm.nodes))
    assert told(late) == told(calm)


def test_a_queue_that_grows_is_told_with_what_waits_and_a_steady_one_is_not(calm: Facts) -> None:
    queue = Queue(
        observer="heron",
        queue="tailback/crane",
        depth=3400,
        bytes=1,
        oldest_s=720.0,
        consumers=None,
        arrives_per_s=None,
        leaves_per_s=None,
        depth_max=3400,
        growth_per_hour=1200.4,
        verdict="growing",
    )
    text = (
        "At heron the queue tailback/crane grows by 1,200 messages an hour; 3,400 messages wait, "
        "the oldest for 12 min."
    )
    assert (BAD, text) in told(replace(calm, queues=(queue,)))
    assert told(replace(calm, queues=(replace(queue, verdict="steady"),))) == told(calm)


JOBS = Queue(
    observer="heron",
    queue="queue/jobs",
    depth=12,
    bytes=1200,
    oldest_s=720.0,
    consumers=0,
    arrives_per_s=0.0,
    leaves_per_s=0.0,
    depth_max=40,
    growth_per_hour=0.0,
    verdict="steady",
)


def test_a_queue_from_which_nobody_takes_is_told_if_something_waits_in_it(calm: Facts) -> None:
    text = "The queue jobs at heron has no consumer: 12 messages wait, the oldest for 12 min."
    assert (WARN, text) in told(replace(calm, queues=(JOBS,)))
    for fine in (replace(JOBS, consumers=1), replace(JOBS, depth=0), replace(JOBS, consumers=None)):
        assert told(replace(calm, queues=(fine,))) == told(calm)


def test_of_many_from_which_nobody_takes_the_deepest_is_told_and_the_others_are_named(calm: Facts) -> None:
    others = tuple(replace(JOBS, queue=f"queue/{name}", depth=1, oldest_s=None) for name in "ab")
    text = "The queue jobs at heron has no consumer: 12 messages wait, the oldest for 12 min. Nor has "
    assert (WARN, text + "a at heron and b at heron.") in told(replace(calm, queues=(*others, JOBS)))


def test_a_queue_that_grows_tells_what_comes_and_goes_and_that_nobody_takes(calm: Facts) -> None:
    grows = replace(JOBS, verdict="growing", growth_per_hour=9000.0, arrives_per_s=2.5, depth=1)
    text = (
        "At heron the queue jobs grows by 9,000 messages an hour: 2.50 arrive a second, 0 leave; "
        "1 message waits, the oldest for 12 min"
    )
    assert told(replace(calm, queues=(grows,)))[0] == (BAD, f"{text}, without a consumer.")
    taken = told(replace(calm, queues=(replace(grows, consumers=2),)))
    assert taken[0] == (BAD, f"{text}.") and not any("has no consumer" in said for _, said in taken)


PARTS = Parts(
    queue="queue/jobs",
    parts=2,
    put=100,
    moved=10,
    moved_share=0.1,
    stranded_share=0.25,
    stranded_max=7,
    starved_share=0.5,
    starved_max=3,
)


def test_work_that_waited_where_nobody_takes_is_told_once_though_others_starved_of_it(calm: Facts) -> None:
    stranded = (
        "The queue jobs had messages at a node without a consumer, while another node had one, in 25 % of "
        "the time with a backlog: 7 messages at most"
    )
    starved = (
        "Consumers of the queue jobs at another node had credit for waiting messages in 50 % of the time "
        "with a backlog: for 3 messages at most."
    )
    other = replace(PARTS, queue="queue/mails", stranded_share=0.1)
    rare = replace(PARTS, stranded_share=0.09, starved_share=0.09)
    found = told(replace(calm, parts=(other, PARTS, rare)))
    assert found == [(WARN, f"{stranded}. The same is true of mails.")]
    assert told(replace(calm, parts=(replace(PARTS, stranded_share=None),))) == [(NOTE, starved)]
    assert told(replace(calm, parts=(rare, replace(rare, starved_share=None)))) == told(calm)


def test_a_clock_that_is_hours_off_is_told_and_many_of_them_in_one_sentence(calm: Facts) -> None:
    wrong = [Clock(node=name, skew_s=skew, observers=2) for name, skew in (("a", -7200.0), ("b", 10_812.0))]
    assert (WARN, "The clock of a is 2 h behind. The times in this report are corrected.") in told(
        replace(calm, clocks=(wrong[0],))
    )
    assert (
        WARN,
        "The clocks of b and a are off, by up to 3 h. The times in this report are corrected.",
    ) in told(replace(calm, clocks=tuple(wrong)))


def test_who_died_for_good_is_told_and_who_came_back_is_not(calm: Facts) -> None:
    life = Life(
        node="wren",
        boot=1,
        first_at=END - timedelta(hours=3),
        last_at=END - timedelta(hours=2),
        ended="dead",
        ended_at=END - timedelta(hours=2),
    )
    again = replace(life, boot=2, ended="there", ended_at=None)
    text = "wren died at 21\xa0Nov\xa02026,\xa007:58 and has not returned."
    assert (BAD, text) in told(replace(calm, lives=(*calm.lives, life)))
    assert told(replace(calm, lives=(*calm.lives, life, again))) == told(calm)
    assert replace(calm, lives=(*calm.lives, life, again)).last_lives["wren"] == again


def test_a_death_that_was_none_is_told(calm: Facts) -> None:
    alarm = Detection(
        how="dead",
        node="wren",
        boot=1,
        last_at=None,
        first_observer="heron",
        first_at=END,
        first_s=None,
        final_s=None,
        observers=1,
        lived_on=True,
    )
    text = "Once a live node was declared dead (wren): a network partition, or a machine that paused."
    assert told(replace(calm, detections=(alarm,))) == [(WARN, text)]


def test_who_balances_unevenly_is_told_the_worst_with_figures_and_the_others_by_name(calm: Facts) -> None:
    def rows(observer: str, variation: float, chosen: int = 600, uuid: str = "") -> list[Quality]:
        return [
            Quality(
                observer=observer,
                observer_uuid=uuid,
                node=node,
                sent=chosen,
                chosen=chosen,
                chosen_share=0.5,
                answered=0,
                latency_ms=None,
                capacity_share=share,
                chosen_ratio=0.5 / share,
                chosen_variation=variation,
            )
            for node, share in (("a", 0.2), ("b", 0.8))
        ]

    even, few = rows("even", 0.2), rows("few", 0.9, chosen=20)
    text = "heron balances unevenly: a got 50 % of its messages with 20 % of the capacity."
    assert told(replace(calm, balance=(*even, *few))) == told(calm)
    assert told(replace(calm, balance=(*even, *rows("heron", 0.7)))) == [(WARN, text)]
    two = (*rows("wren", 0.3), *even, *rows("heron", 0.7))
    assert told(replace(calm, balance=two)) == [(WARN, f"{text} So does wren.")]
    of_one_name = (*rows("heron", 0.1, uuid="old"), *rows("heron", 0.7, uuid="new"))
    assert told(replace(calm, balance=of_one_name)) == [(WARN, text)]


def test_the_forecast_says_when_and_how_sure_it_is(calm: Facts) -> None:
    row = Forecast(
        node="heron",
        points=900,
        rate_per_s=500.0,
        load_share=0.4,
        capacity_per_s=1000.0,
        capacity_low_per_s=900.0,
        capacity_high_per_s=1100.0,
        reason=None,
        full_at=END + timedelta(days=3),
        full_first_at=END + timedelta(days=2),
        full_last_at=None,
    )
    text = (
        "If its load keeps growing, heron is full on 24 Nov 2026, 09:58 "
        "(between 23 Nov 2026, 09:58 and a time too far ahead to forecast)."
    )
    ((rank, said),) = told(replace(calm, forecasts=(row,)))
    assert (rank, said.replace("\xa0", " ")) == (WARN, text)
    near = replace(row, full_at=None, rate_per_s=850.0)
    ((rank, said),) = told(replace(calm, forecasts=(near,)))
    assert said == "heron handled 850 of its capacity of 1,000 messages a second, on average."


def test_the_link_that_was_there_least_is_told_and_not_one_of_which_no_line_says(calm: Facts) -> None:
    first, second, *others = calm.links
    loose = replace(first, observer="heron", node="wren", logged_in_share=0.5, lost=2)
    links = (loose, replace(second, logged_in_share=None, lost=3, rtt_median_ms=None), *others)
    text = "The link from heron to wren was lost 2 times, and up for 50 % of the time."
    assert told(replace(calm, links=links)) == [(WARN, text)]
    assert told(replace(calm, links=links[1:])) == told(calm)


def test_what_is_missing_in_the_data_is_told(calm: Facts) -> None:
    whole = facts(3)
    rows = tuple(replace(row, states_lost=9, gap_s=None) for row in calm.coverage)
    said = told(replace(calm, coverage=rows, quarantined=whole.quarantined))
    assert (WARN, "4 lines could not be read and are in quarantine, most often because: not JSON.") in said
    assert (NOTE, "27 states of nodes are missing here, most of them from heron.") in said


@pytest.mark.slow  # for its length
def test_no_finding_is_said_twice_at_three_hundred_nodes_and_there_are_few() -> None:
    said = told(facts(300))
    assert len(said) == len(set(said)) <= 20
